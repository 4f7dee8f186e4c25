//! Exports `clock_gettime` and `getrandom` of the protocol crate, so that libraries find them before those of libc.
//! BoringSSL calls the system without libc: what quiche draws from it is taken from the program, too.

fn main() {
    println!("cargo:rustc-link-arg-bins=-rdynamic");
    println!("cargo:rustc-link-arg-bins=-Wl,--wrap=RAND_bytes");
    println!("cargo:rerun-if-changed=build.rs");
}
