//! Exports `getrandom`, which src/random.rs defines, so that libraries find it before that of libc.

fn main() {
    println!("cargo:rustc-link-arg-bins=-rdynamic");
    println!("cargo:rerun-if-changed=build.rs");
}
