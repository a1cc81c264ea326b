//! Executions side by side.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Does all tasks, so many at a time, each worker with a tool of its own, made for it
/// by its number. What came of them is delivered in the order of the tasks, whoever did
/// them, each as soon as those before it were.
pub fn do_all<T: Sync, W, R: Send>(
    tasks: &[T],
    workers: usize,
    tool: impl Fn(usize) -> W + Sync,
    work: impl Fn(&mut W, &T) -> R + Sync,
    mut deliver: impl FnMut(&T, R),
) {
    let next = AtomicUsize::new(0);
    let (done, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for worker in 0..workers.clamp(1, tasks.len().max(1)) {
            let (next, tool, work, done) = (&next, &tool, &work, done.clone());
            scope.spawn(move || {
                let mut tool = tool(worker);
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(task) = tasks.get(index) else {
                        return;
                    };
                    let result = work(&mut tool, task);
                    // Who receives it is there until all are done.
                    let _ = done.send((index, result));
                }
            });
        }
        drop(done);
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (index, result) in results {
            early.insert(index, result);
            while let Some(result) = early.remove(&due) {
                deliver(&tasks[due], result);
                due += 1;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_tasks() {
        let tasks: Vec<u64> = (0..100).collect();
        for workers in [1, 4, 200] {
            let mut results = Vec::new();
            let slow = |(): &mut (), task: &u64| {
                std::thread::sleep(std::time::Duration::from_micros((100 - task) * 5));
                task * 2
            };
            do_all(
                &tasks,
                workers,
                |_| (),
                slow,
                |task, result| {
                    results.push((*task, result));
                },
            );
            let expected: Vec<_> = tasks.iter().map(|task| (*task, task * 2)).collect();
            assert_eq!(results, expected);
        }
        do_all(&[] as &[u64], 4, |_| (), |(), _| (), |_, ()| unreachable!());
    }

    #[test]
    fn what_is_done_is_delivered_before_all_is() {
        let (said, heard) = mpsc::channel();
        let heard = std::sync::Mutex::new(heard);
        let work = |(): &mut (), task: &u32| match task {
            0 => (),
            _ => heard.lock().unwrap().recv().unwrap(),
        };
        do_all(
            &[0, 1],
            2,
            |_| (),
            work,
            |task, ()| {
                if *task == 0 {
                    said.send(()).unwrap();
                }
            },
        );
    }

    #[test]
    fn every_worker_has_a_number_of_its_own() {
        let mut jobs = Vec::new();
        let slow = |job: &mut usize, _: &()| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            *job
        };
        do_all(&[(); 12], 3, |job| job, slow, |_, job| jobs.push(job));
        jobs.sort_unstable();
        jobs.dedup();
        assert_eq!(jobs, [0, 1, 2]);
    }
}
