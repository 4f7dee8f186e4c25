package quic

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/quic-go/quic-go/internal/ackhandler"
	"github.com/quic-go/quic-go/internal/congestion"
	"github.com/quic-go/quic-go/internal/monotime"
	"github.com/quic-go/quic-go/internal/protocol"
	"github.com/quic-go/quic-go/internal/utils"
	"github.com/quic-go/quic-go/qlogwriter"
)

// HostedLine is the line to the simulator. It implements rawConn, which a Transport prefers to a net.PacketConn, since only
// that has ECN and says that datagrams are not fragmented, without which quic-go does not look for the path's MTU.
type HostedLine struct {
	// Send takes a datagram that leaves; its ECN field has the bits of IP.
	Send func(ecn byte, payload []byte)

	arrivals    chan receivedPacket
	local, peer net.Addr
}

var _ rawConn = &HostedLine{}

// NewHostedLine makes the line of an end; both addresses are of the kind *net.UDPAddr.
func NewHostedLine(local, peer net.Addr, send func(byte, []byte)) *HostedLine {
	return &HostedLine{Send: send, arrivals: make(chan receivedPacket, 1), local: local, peer: peer}
}

// Deliver takes a datagram that arrives.
func (l *HostedLine) Deliver(ecn byte, payload []byte) {
	buffer := getPacketBuffer()
	buffer.Data = append(buffer.Data[:0], payload[:min(len(payload), protocol.MaxPacketBufferSize)]...)
	l.arrivals <- receivedPacket{
		buffer:     buffer,
		remoteAddr: l.peer,
		rcvTime:    monotime.Now(),
		data:       buffer.Data,
		ecn:        protocol.ParseECNHeaderBits(ecn & 3),
	}
}

// ReadPacket waits for the next datagram.
func (l *HostedLine) ReadPacket() (receivedPacket, error) { return <-l.arrivals, nil }

// WritePacket sends a datagram.
func (l *HostedLine) WritePacket(b []byte, _ net.Addr, _ []byte, _ uint16, ecn protocol.ECN) (int, error) {
	bits := byte(0)
	if ecn != protocol.ECNUnsupported {
		bits = ecn.ToHeaderBits()
	}
	l.Send(bits, b)
	return len(b), nil
}

func (l *HostedLine) capabilities() connCapabilities { return connCapabilities{DF: true, ECN: true} }

// LocalAddr is the address of this end.
func (l *HostedLine) LocalAddr() net.Addr { return l.local }

// ReadFrom and WriteTo are those of net.PacketConn, and are not called.
func (l *HostedLine) ReadFrom([]byte) (int, net.Addr, error) { return 0, nil, errors.ErrUnsupported }
func (l *HostedLine) WriteTo([]byte, net.Addr) (int, error)  { return 0, errors.ErrUnsupported }
func (l *HostedLine) SetDeadline(time.Time) error            { return nil }
func (l *HostedLine) SetReadDeadline(time.Time) error        { return nil }
func (l *HostedLine) SetWriteDeadline(time.Time) error       { return nil }
func (l *HostedLine) Close() error                           { return nil }

// HostedState is what the sender of a connection reports.
type HostedState struct {
	congestion.HostedState
	InFlight uint64
}

// HostedState reads the state of the sender. The connection must be idle.
func (c *Conn) HostedState() HostedState {
	state, inFlight := ackhandler.Hosted(c.sentPacketHandler)
	return HostedState{state, inFlight}
}

// HostedPrepare prepares a new connection, by default with Reno. Its pacer takes the size of datagrams, too, which quic-go
// leaves at 1280 bytes (internal/congestion/pacer.go:27) whatever the configuration says. With larger ones a budget between
// both sizes is too small for the congestion control, and enough for the pacer, so that the connection's loop spins until
// the time moves on: in virtual time it never would.
func (c *Conn) HostedPrepare(useCubic bool) {
	if useCubic {
		ackhandler.HostedUseCubic(c.sentPacketHandler)
	}
	c.sentPacketHandler.SetMaxDatagramSize(c.config.initialPacketSize())
}

// HostedDeadline is the time to which the connection's timer was set last, since the start of the bubble; false: none was.
func HostedDeadline() (time.Duration, bool) {
	deadline := monotime.Deadline()
	return deadline.Sub(monotime.Origin), !deadline.IsZero()
}

// HostedIsAcked is whether all of a stream that was closed is acknowledged.
func (s *SendStream) HostedIsAcked() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.completed
}

// HostedIsReadable is whether Read has something to return, so that it does not wait.
func (s *ReceiveStream) HostedIsReadable() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.currentFrame == nil || s.readPosInFrame >= len(s.currentFrame) {
		if s.currentFrameIsLast {
			return !s.errorRead
		}
		s.dequeueNextFrame()
	}
	return s.currentFrame != nil || s.currentFrameIsLast || s.closeForShutdownErr != nil
}

// HostedOnDial is called with each connection that this end opens, before it sends anything: Dial returns after the
// handshake. The variable newClientConnection exists for quic-go's own tests.
func HostedOnDial(opened func(*Conn)) {
	dial := newClientConnection
	newClientConnection = func(
		ctx context.Context, conn sendConn, runner connRunner, destination, source protocol.ConnectionID,
		generator ConnectionIDGenerator, resetter *statelessResetter, config *Config, tlsConfig *tls.Config,
		first protocol.PacketNumber, enable0RTT, isNegotiated bool, trace qlogwriter.Trace, logger utils.Logger,
		version protocol.Version,
	) *wrappedConn {
		c := dial(ctx, conn, runner, destination, source, generator, resetter, config, tlsConfig, first, enable0RTT,
			isNegotiated, trace, logger, version)
		opened(c.Conn)
		return c
	}
}
