//! Every algorithm of the library, in every place.

use cwndlab_conformance::texts;
use cwndlab_replay::{conform, Place};
use cwndlab_simulator::catalogue;

#[test]
fn look() {
    let catalogue = catalogue();
    for text in ["reno", "cubic", "cubic-linux", "bbr3", "copa", "ledbat", "dctcp", "vegas"] {
        let algorithm = catalogue.parse(text).unwrap();
        for f in conform(&algorithm) {
            println!(
                "{text:10} {:8} {:10} {:10} {}/{} most {}",
                f.course,
                f.place.name(),
                f.verdict.name(),
                f.differing,
                f.windows,
                f.most_segments
            );
            for d in &f.told {
                println!("      {:?} {d}", d.nature);
            }
            if let Some(d) = &f.window {
                println!("   W  {:?} {d}", d.nature);
            }
        }
    }
    let _ = (texts(&catalogue).len(), Place::Quic);
}
