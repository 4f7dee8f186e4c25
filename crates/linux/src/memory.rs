//! Returns memory that the allocator holds to the system: malloc_trim(3).

/// Returns free memory to the system. The allocator of glibc retains freed memory below a block in use; other
/// allocators return it automatically.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim accesses only the allocator's lists, under the allocator's locks.
    unsafe {
        libc::malloc_trim(0);
    }
}
