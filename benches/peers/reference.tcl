# ns-2 dumbbell of the references in known-answers/ns2: prints the rows of <scenario>_summary.csv for one run.
#
#   src_i --(1 Gbit/s)-- R1 --(bottleneck)-- R2 --(1 Gbit/s)-- dst_i
#
# The delay of the bottleneck is a quarter of the smallest RTT. The remainder of a flow's RTT is divided equally between
# its access links. Run k starts flow i later by k (i + 1) 13.7 ms. Made with ns-2.35 (Debian package 2.35+dfsg-5).
#
# Scenarios unequal_tied (rtt=30,120, five runs) and unequal (rtt=30,120.1, three runs), all senders; the columns are those
# of c_summary.csv:
#
#   cd known-answers/ns2
#   head -1 c_summary.csv > unequal_summary.csv
#   for cc in $(tail -n +2 c_summary.csv | cut -d, -f2 | uniq); do
#     for k in 0 1 2; do
#       ns ../../benches/peers/reference.tcl scenario=unequal cc=$cc rep=$k rtt=30,120.1 | grep ^unequal,
#     done
#   done >> unequal_summary.csv
#
# Scenario c, with which the script was validated: cc=reno rtt=50,50 start=0,30 rate=100 buffer=208 from=60 duration=150.
#
# keys (defaults below):
#   cc     a module of Agent/TCP/Linux, or a native agent as in known-answers/ns2 (sack1_ns, ...)
#   rtt    base RTT of each flow, ms          start     start of each flow, s
#   rate   bottleneck, Mbit/s                 buffer    bottleneck, packets
#   from   start of the averages, s           duration  end, s
#   rep    number of the run                  delack    1: ACK of every second segment, or after 100 ms

array set P { scenario unequal cc reno rtt 30,120.1 start 0,0 rate 50 buffer 250 from 30 duration 150 rep 0 delack 0 }
foreach a $argv {
    if {![regexp {^([a-z]+)=(.*)$} $a -> k v] || ![info exists P($k)]} {
        puts stderr "unknown argument $a"; exit 2
    }
    set P($k) $v
}

remove-all-packet-headers
add-packet-header IP TCP Flags
set ns [new Simulator]
array set native {
    tahoe Agent/TCP reno_ns Agent/TCP/Reno newreno_ns Agent/TCP/Newreno sack1_ns Agent/TCP/Sack1
    fack_ns Agent/TCP/Fack vegas_ns Agent/TCP/Vegas hstcp_ns Agent/TCP/Sack1
}
set isnative [info exists native($P(cc))]

Agent/TCP set packetSize_     1460
Agent/TCP set window_         60000
Agent/TCP set windowInit_     2
Agent/TCP set maxcwnd_        0
Agent/TCP set timestamps_     true
Agent/TCP set ts_option_size_ 0
Agent/TCP set minrto_         0.2
Agent/TCP set maxrto_         [expr {$isnative ? 60 : 120}]
Agent/TCPSink set ts_echo_rfc1323_ true

set rtts   [split $P(rtt) ,]
set starts [split $P(start) ,]
set least  [lindex [lsort -real $rtts] 0]
set r1 [$ns node]
set r2 [$ns node]
$ns duplex-link $r1 $r2 $P(rate)Mb [expr {$least / 4.0}]ms DropTail
# A DropTail queue of limit n holds n - 1 packets in addition to the packet in service.
$ns queue-limit $r1 $r2 $P(buffer)
$ns queue-limit $r2 $r1 100000
set monitor [$ns monitor-queue $r1 $r2 "" 0.1]
set packets [$monitor get-pkts-integrator]

set flows {}
set begin {}
for {set i 0} {$i < [llength $rtts]} {incr i} {
    set s [$ns node]
    set d [$ns node]
    set delay [expr {([lindex $rtts $i] / 2.0 - $least / 4.0) / 2}]
    foreach {x y} [list $s $r1 $r2 $d] {
        $ns duplex-link $x $y 1000Mb ${delay}ms DropTail
        $ns queue-limit $x $y 100000
        $ns queue-limit $y $x 100000
    }
    set tcp [new [expr {$isnative ? $native($P(cc)) : "Agent/TCP/Linux"}]]
    set kind Agent/TCPSink
    if {!$isnative || $P(cc) in {sack1_ns fack_ns hstcp_ns}} { append kind /Sack1 }
    if {$P(delack)} { append kind /DelAck }
    if {$P(cc) eq "hstcp_ns"} { $tcp set windowOption_ 8 }
    set sink [new $kind]
    $tcp set fid_ $i
    $ns attach-agent $s $tcp
    $ns attach-agent $d $sink
    $ns connect $tcp $sink
    if {!$isnative} { $ns at 0 "$tcp select_ca $P(cc)" }
    set ftp [new Application/FTP]
    $ftp attach-agent $tcp
    set at [expr {[lindex $starts $i] + $P(rep) * ($i + 1) * 0.0137}]
    $ns at $at "$ftp start"
    lappend begin $at
    lappend flows $tcp
    set window($i) 0.0
    set looks($i) 0
}

proc look {} {
    global ns flows window looks
    set i 0
    foreach t $flows {
        set window($i) [expr {$window($i) + [$t set cwnd_]}]
        incr looks($i)
        incr i
    }
    $ns at [expr {[$ns now] + 0.1}] look
}

# Counters at the start of the averaging interval.
proc mark {} {
    global ns flows monitor packets before
    set i 0
    foreach t $flows {
        foreach name {ack_ ncwndcuts_ nrexmitpack_} { set before($i,$name) [$t set $name] }
        incr i
    }
    $packets newpoint [$ns now] [$packets set lasty_]
    set before(drops) [$monitor set pdrops_]
    set before(bytes) [$monitor set bdepartures_]
    set before(queue) [$packets set sum_]
    look
}

proc report {} {
    global ns flows P rtts begin monitor packets before window looks
    puts ""; # select_ca of TCP/Linux writes to standard output
    $packets newpoint [$ns now] [$packets set lasty_]
    set span [expr {$P(duration) - $P(from)}]
    set sum [$packets set sum_]
    set i 0
    foreach t $flows {
        foreach name {ack_ ncwndcuts_ nrexmitpack_} { set since($name) [expr {[$t set $name] - $before($i,$name)}] }
        set live [expr {$P(duration) - [lindex $begin $i]}]
        puts [join [list \
            $P(scenario) $P(cc) $P(rep) $i $P(cc) [lindex $rtts $i] [format %.4f [lindex $begin $i]] f \
            [format %.4f [expr {[$t set ack_] * 1460 * 8e-6 / $live}]] \
            [format %.4f [expr {$since(ack_) * 1460 * 8e-6 / $span}]] \
            [$t set ack_] [$t set ndatapack_] [$t set nrexmitpack_] [$t set nrexmit_] [$t set ncwndcuts_] \
            $since(ncwndcuts_) [$monitor set parrivals_] [$monitor set pdrops_] 0 \
            [format %.2f [expr {$sum / $P(duration)}]] [format %.2f [expr {($sum - $before(queue)) / $span}]] \
            [format %.5f [expr {([$monitor set bdepartures_] - $before(bytes)) * 8e-6 / $P(rate) / $span}]] \
            $since(nrexmitpack_) [expr {[$monitor set pdrops_] - $before(drops)}] \
            [format %.2f [expr {$window($i) / $looks($i)}]]] ,]
        incr i
    }
    exit 0
}

$ns at $P(from) mark
$ns at $P(duration) report
$ns run
