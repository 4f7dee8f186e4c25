//! Memory of the process.

/// Returns free memory to the system. The allocator of glibc keeps what was freed below a block that is in use
/// (malloc_trim(3)); others return it by themselves.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it looks at the allocator's own lists, under the allocator's own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}
