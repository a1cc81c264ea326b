//! Executions side by side.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Does all tasks, so many at a time, each worker with a tool of its own. What came
/// of them is in the order of the tasks, whoever did them.
pub fn do_all<T: Sync, W: Clone + Send, R: Send>(
    tasks: &[T],
    workers: usize,
    tool: &W,
    work: impl Fn(&mut W, &T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, tasks.len().max(1)) {
            let mut tool = tool.clone();
            let (next, done, work) = (&next, &done, &work);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(task) = tasks.get(index) else {
                        return;
                    };
                    let result = work(&mut tool, task);
                    let mut done = done.lock().unwrap_or_else(|e| e.into_inner());
                    done.push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_tasks() {
        let tasks: Vec<u64> = (0..100).collect();
        for workers in [1, 4, 200] {
            let results = do_all(&tasks, workers, &(), |(), task| {
                std::thread::sleep(std::time::Duration::from_micros((100 - task) * 5));
                task * 2
            });
            assert_eq!(
                results,
                tasks.iter().map(|task| task * 2).collect::<Vec<_>>()
            );
        }
        assert!(do_all(&[] as &[u64], 4, &(), |(), task| *task).is_empty());
    }
}
