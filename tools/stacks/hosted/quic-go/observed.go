package hosted

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// An observer counts what quic-go shows in events alone, and passes them on to quic-go's writer of logs.
type observer struct {
	folder   string
	seed     uint64
	inner    qlogwriter.Recorder
	isClosed bool
	// held are the events since the arrival of a datagram.
	held      []qlogwriter.Event
	isHolding bool

	lost, timeouts, events uint64
	cutback                int64
	rtt                    time.Duration
}

// A logFile is flushed when it is closed.
type logFile struct {
	*bufio.Writer
	file *os.File
}

func (f logFile) Close() error {
	if err := f.Flush(); err != nil {
		return err
	}
	return f.file.Close()
}

// trace is the tracer of a connection: the observer, with a log if there is a folder for it.
func (o *observer) trace(_ context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
	if o.folder != "" {
		file, err := os.Create(filepath.Join(o.folder, fmt.Sprintf("quic-go-%016x.sqlog", o.seed)))
		if err != nil {
			panic(err)
		}
		written := qlogwriter.NewConnectionFileSeq(logFile{bufio.NewWriterSize(file, 1<<16), file}, isClient, id)
		go written.Run()
		o.inner = written.AddProducer()
	}
	return o
}

// AddProducer is called once for each connection.
func (o *observer) AddProducer() qlogwriter.Recorder { return o }

// RecordEvent counts. Packets of the discovery of the MTU that are lost do not count: they have no effect on the window.
func (o *observer) RecordEvent(event qlogwriter.Event) {
	switch one := event.(type) {
	case qlog.PacketLost:
		if !one.IsMTUProbePacket {
			o.lost++
		}
	case qlog.PTOCountUpdated:
		if one.PTOCount > 0 {
			o.timeouts++
		}
	}
	if o.inner == nil || o.isClosed {
		return
	}
	if _, isArrival := event.(qlog.PacketReceived); o.isHolding && !isArrival {
		o.held = append(o.held, event)
		return
	}
	o.inner.RecordEvent(event)
	o.writeHeld()
}

// hold begins with the arrival of a datagram. quic-go logs a packet after all that follows from its frames, such as losses
// and the new window; in the log it comes before them, as in time.
func (o *observer) hold() { o.isHolding = true }

// release ends when all goroutines are idle.
func (o *observer) release() {
	o.isHolding = false
	o.writeHeld()
}

func (o *observer) writeHeld() {
	for _, event := range o.held {
		o.inner.RecordEvent(event)
	}
	o.held = o.held[:0]
}

// Close ends the log, at the end of the connection or of the run.
func (o *observer) Close() error {
	if o.inner == nil || o.isClosed {
		return nil
	}
	o.writeHeld()
	o.isClosed = true
	return o.inner.Close()
}

// sample reports an RTT that differs from that before it.
func (o *observer) sample(conn *quic.Conn, to *answer) {
	if rtt := conn.ConnectionStats().LatestRTT; rtt != o.rtt {
		o.rtt = rtt
		to.value(valueRTT, uint64(rtt))
	}
}

// report reports the values of the sender.
func (o *observer) report(conn *quic.Conn, to *answer) {
	state, stats := conn.HostedState(), conn.ConnectionStats()
	if state.Cutback > o.cutback {
		o.events++
	}
	o.cutback = state.Cutback
	to.value(valueWindow, state.Window)
	to.value(valueInFlight, state.InFlight)
	to.value(valuePacingRate, state.PacingRate)
	to.value(valueLostPackets, o.lost)
	to.value(valueLostBytes, stats.BytesLost)
	to.value(valueCongestionEvents, o.events)
	to.value(valueTimeouts, o.timeouts)
	if state.Threshold < 1<<60 {
		to.value(valueThreshold, state.Threshold)
	}
	if stats.LatestRTT > 0 {
		to.value(valueSmoothedRTT, uint64(stats.SmoothedRTT))
		to.value(valueMinRTT, uint64(stats.MinRTT))
	}
}
