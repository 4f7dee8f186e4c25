//! Returns memory that the allocator holds to the system: malloc_trim(3).

/// Returns free memory to the system. The allocator of glibc keeps what was freed below a block in use; other
/// allocators return it by themselves.
pub fn trim() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it reads the allocator's own lists, under the allocator's own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}
