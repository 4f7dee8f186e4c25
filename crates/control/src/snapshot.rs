//! Clones of boxed trait objects.

/// `snapshot! { Copies of Kind; }` declares the trait `Copies`, implements it for all types that are `Kind` and
/// `Clone`, and implements `Clone` for `Box<dyn Kind>`.
macro_rules! snapshot {
    ($($copies:ident of $kind:ident;)*) => {
        $(
            /// A boxed copy. Implemented for every algorithm that is `Clone`: `#[derive(Clone)]` is sufficient.
            pub trait $copies {
                /// A copy of the present state.
                fn snapshot(&self) -> Box<dyn $kind>;

                /// The path of the type, such as `crate::module::Type`, by which its source is found.
                fn type_name(&self) -> &'static str;
            }

            impl<T: $kind + Clone + 'static> $copies for T {
                fn snapshot(&self) -> Box<dyn $kind> {
                    Box::new(self.clone())
                }

                fn type_name(&self) -> &'static str {
                    std::any::type_name::<T>()
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
