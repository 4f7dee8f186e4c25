//! Lists of plug-ins.

/// What every list of plug-ins has: their modules, their tables, one configuration type for all of them, and its reading.
///
/// Each module has a `SPEC` (a [`Table`](crate::Table)) and a `Config` with a function `read` of table and faults. The list's own
/// macro adds what its plug-ins do.
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

        /// Every entry, in the order of documentation.
        pub static SPECS: &[&$crate::Table] = &[$(&$module::SPEC),*];

        $(#[$attribute])*
        pub enum $config {
            $(#[doc = concat!("See [`", stringify!($module), "`].")] $name($module::Config),)*
        }

        impl $config {
            /// Reads the fields of the entry that the table chose.
            pub fn read(table: &$crate::Reader<'_>, faults: &mut $crate::Faults) -> Option<Self> {
                $(if table.declared().name == $module::SPEC.name {
                    return $module::Config::read(table, faults).map(Self::$name);
                })*
                None
            }
        }
    };
}
