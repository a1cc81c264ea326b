use std::sync::atomic::{AtomicU32, Ordering};

mod store {
    pub static TOTAL: super::AtomicU32 = super::AtomicU32::new(1);

    pub struct Tally<T>(pub T);

    impl<T: Copy + Into<u32>> Tally<T> {
        #[inline(never)]
        pub fn add(&self) -> u32 {
            bump(self.0.into())
        }
    }

    #[inline(always)]
    fn bump(by: u32) -> u32 {
        TOTAL.fetch_add(by, super::Ordering::Relaxed) // bump
    }
}

fn main() {
    let sum = store::Tally(3u8).add();
    std::process::exit(sum as i32);
}
