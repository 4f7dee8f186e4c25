//! Lists of plug-ins.

/// Defines a list of plug-ins: their modules, their tables, an enumeration of their configurations, and its reader.
///
/// Each module has a `SPEC` (a [`Table`](crate::Table)) and a `Config`, which [`fields!`](crate::fields!) declares. The
/// macro of each list adds the functions of its plug-ins.
///
/// ```ignore
/// registry! {
///     #[derive(Clone, Debug)] Config
///     Bernoulli => bernoulli,
///     List => list,
/// }
/// ```
#[macro_export]
macro_rules! registry {
    (
        $(#[$attribute:meta])* $config:ident
        $($name:ident => $module:ident,)*
    ) => {
        $(pub mod $module;)*

        /// The declarations, in the order of the documentation.
        pub static SPECS: &[&$crate::Table] = &[$(&$module::SPEC),*];

        $(#[$attribute])*
        pub enum $config {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $name($module::Config),)*
        }

        impl $config {
            /// Reads the fields of the selected plug-in.
            pub fn read(table: &$crate::Reader<'_>, faults: &mut $crate::Faults) -> Option<Self> {
                $(if table.declared().name == $module::SPEC.name {
                    return $module::Config::read(table, faults).map(Self::$name);
                })*
                None
            }
        }
    };
}
