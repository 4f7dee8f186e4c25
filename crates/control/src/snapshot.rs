//! Copies of algorithms behind a pointer: a trait that copies the implementations of another, for the module of that one.

/// `snapshot! { Copies of Kind; }` declares the trait `Copies`, gives it to all that implement `Kind` and are `Clone`, and
/// makes `Box<dyn Kind>` a `Clone`.
macro_rules! snapshot {
    ($($copies:ident of $kind:ident;)*) => {
        $(
            /// A copy in a box. Every algorithm that is `Clone` has it: `#[derive(Clone)]` is all to write.
            pub trait $copies {
                /// A copy as it stands.
                fn snapshot(&self) -> Box<dyn $kind>;
            }

            impl<T: $kind + Clone + 'static> $copies for T {
                fn snapshot(&self) -> Box<dyn $kind> {
                    Box::new(self.clone())
                }
            }

            impl Clone for Box<dyn $kind> {
                fn clone(&self) -> Self {
                    (**self).snapshot()
                }
            }
        )*
    };
}

pub(crate) use snapshot;
