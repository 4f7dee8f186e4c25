//! What Windows reports of its TCP connections.

pub mod tcp_info;
