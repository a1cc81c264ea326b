//! Atomic operations where nobody wants to know of them: they are carried out, and that
//! is all.

use super::of_all_sizes;
use crate::patch::Patch;

macro_rules! plain {
    ($($int:ty, $atomic:ty, $module:ident, $load:ident $store:ident $exchange:ident
       $add:ident $sub:ident $and:ident $or:ident $xor:ident $nand:ident
       $strong:ident $weak:ident $val:ident;)*) => {
        /// What takes the place of all entry points.
        pub(crate) fn patches() -> Vec<Patch> {
            [$($module::patches()),*].into_iter().flatten().collect()
        }

        $(
            mod $module {
                use super::super::*;
                use super::Patch;

                pub(super) fn patches() -> [Patch; 12] {
                    use super::super::$module as usual;
                    [
                        (usual::$load as *const (), load as *const ()),
                        (usual::$store as *const (), store as *const ()),
                        (usual::$exchange as *const (), exchange as *const ()),
                        (usual::$add as *const (), add as *const ()),
                        (usual::$sub as *const (), sub as *const ()),
                        (usual::$and as *const (), and as *const ()),
                        (usual::$or as *const (), or as *const ()),
                        (usual::$xor as *const (), xor as *const ()),
                        (usual::$nand as *const (), nand as *const ()),
                        (usual::$strong as *const (), compare_exchange as *const ()),
                        (usual::$weak as *const (), compare_exchange as *const ()),
                        (usual::$val as *const (), compare_exchange_value as *const ()),
                    ]
                    .map(|(usual, plain)| Patch::jumps(usual as usize, plain as usize))
                }

                pub(super) unsafe extern "C" fn load(address: *mut $int, _mo: c_int) -> $int {
                    // SAFETY: the program's atomic.
                    unsafe { at(address) }.load(Ordering::SeqCst)
                }

                pub(super) unsafe extern "C" fn store(address: *mut $int, value: $int, mo: c_int) {
                    let order = match order(mo) {
                        MemoryOrder::SeqCst => Ordering::SeqCst,
                        _ => Ordering::Release,
                    };
                    // SAFETY: the program's atomic.
                    unsafe { at(address) }.store(value, order);
                }

                unsafe fn at<'a>(address: *mut $int) -> &'a $atomic {
                    // SAFETY: the program's atomic, aligned as atomics are.
                    unsafe { &*address.cast() }
                }

                operations! {
                    $int:
                    exchange swap,
                    add fetch_add,
                    sub fetch_sub,
                    and fetch_and,
                    or fetch_or,
                    xor fetch_xor,
                    nand fetch_nand,
                }

                pub(super) unsafe extern "C" fn compare_exchange(
                    address: *mut $int,
                    expected: *mut $int,
                    new: $int,
                    _success: c_int,
                    _failure: c_int,
                ) -> bool {
                    // SAFETY: the program's atomic, and its own variable.
                    unsafe {
                        let result = at(address).compare_exchange(
                            expected.read(),
                            new,
                            Ordering::SeqCst,
                            Ordering::SeqCst,
                        );
                        if let Err(seen) = result {
                            expected.write(seen);
                        }
                        result.is_ok()
                    }
                }

                pub(super) unsafe extern "C" fn compare_exchange_value(
                    address: *mut $int,
                    expected: $int,
                    new: $int,
                    _success: c_int,
                    _failure: c_int,
                ) -> $int {
                    // SAFETY: the program's atomic.
                    let result = unsafe { at(address) }.compare_exchange(
                        expected,
                        new,
                        Ordering::SeqCst,
                        Ordering::SeqCst,
                    );
                    match result {
                        Ok(seen) | Err(seen) => seen,
                    }
                }
            }
        )*
    };
}

/// Operations that replace a value by one made of it and another.
macro_rules! operations {
    ($int:ty: $($name:ident $operation:ident,)*) => {
        $(
            pub(super) unsafe extern "C" fn $name(address: *mut $int, value: $int, _mo: c_int) -> $int {
                // SAFETY: the program's atomic.
                unsafe { at(address) }.$operation(value, Ordering::SeqCst)
            }
        )*
    };
}
of_all_sizes!(plain);

#[cfg(test)]
mod tests {
    macro_rules! does_what_it_is_called {
        ($($module:ident $int:ty,)*) => {
            $(
                #[test]
                fn $module() {
                    use super::$module::*;
                    const ONES: $int = !0;
                    let mut value: $int = 12;
                    let at = &raw mut value;
                    // SAFETY: our own variables.
                    unsafe {
                        assert_eq!(add(at, 5, 0), 12);
                        assert_eq!(sub(at, 3, 4), 17);
                        assert_eq!(and(at, 6, 5), 14);
                        assert_eq!(or(at, 9, 5), 6);
                        assert_eq!(xor(at, 2, 5), 15);
                        assert_eq!(nand(at, 5, 5), 13);
                        assert_eq!(exchange(at, 7, 5), ONES - 5);
                        assert_eq!(load(at, 2), 7);
                        store(at, 8, 3);
                        let mut expected: $int = 9;
                        assert!(!compare_exchange(at, &raw mut expected, 1, 5, 0));
                        assert_eq!(expected, 8);
                        assert!(compare_exchange(at, &raw mut expected, ONES, 5, 0));
                        assert_eq!(compare_exchange_value(at, 1, 2, 5, 5), ONES);
                        assert_eq!(compare_exchange_value(at, ONES, 2, 5, 5), ONES);
                        store(at, load(at, 5) + 1, 5);
                    }
                    assert_eq!(value, 3);
                }
            )*
        };
    }

    does_what_it_is_called! {
        bits8 u8,
        bits16 u16,
        bits32 u32,
        bits64 u64,
        bits128 u128,
    }
}
