//! Declares the tables of a scenario beside the configurations that they contain, which declare their fields. Plug-ins
//! declare their tables in their own modules.

/// Declares tables. A configuration in parentheses is the value of fields that contain the table.
macro_rules! tables {
    ($($(#[$doc:meta])* $table:ident: $(($value:ident))? $($fields:ident)? = $name:literal, $about:literal;)+) => {$(
        $(#[$doc])*
        pub(crate) static $table: cwndlab_config::Table = cwndlab_config::Table::new($name, $about, &[$($value::FIELDS)? $($fields::FIELDS)?]);

        $(impl cwndlab_config::TableType for $value {
            const TABLE: &'static cwndlab_config::Table = &$table;

            fn read_table(table: &cwndlab_config::Reader<'_>, faults: &mut cwndlab_config::Faults) -> Option<Self> {
                Self::read(table, faults)
            }
        })?
    )+};
}

pub(crate) use tables;
