package hosted

import (
	"context"
	"crypto/tls"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"
)

// Bytes that are written at once. All their pages are the system's page of zeros, so that they take no memory; where a piece
// ends, quic-go would send a part of a datagram.
const pieceBytes = 1 << 34

// version is that of quic-go. The linker sets it (build.sh), since a test does not know the modules that it has.
var version = "of an unknown version"

var (
	senderAddress   = &net.UDPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1}
	receiverAddress = &net.UDPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 2}
)

// A stack is a connection with one stream, from the end that opens it. Its goroutines wait for quic-go, and nothing more: all
// that the application does is done by that of `serve`, while the others are idle. Their order has no effect thus.
type stack struct {
	answer    *answer
	line      *quic.HostedLine
	transport *quic.Transport
	observer  *observer
	isSender  bool
	useCubic  bool
	begin     time.Time
	zeros     []byte
	buffer    []byte

	// dial connects; nil: the end accepts, or has connected.
	dial     func() error
	conn     *quic.Conn
	outgoing *quic.SendStream
	incoming *quic.ReceiveStream

	// What goroutines have found: the streams of the peer, ends of writing with the number of bytes, and errors.
	accepted chan *quic.ReceiveStream
	written  chan int
	failed   chan error

	toWrite   uint64 // endless: as much as can be sent
	delivered uint64

	isWriting, isFinishing, isFinished, isDone bool
}

func newStack(given start) (*stack, error) {
	controller, err := controllerOf(given.controller)
	if err != nil {
		return nil, err
	}
	s := &stack{
		answer: newAnswer(), isSender: given.isSender, useCubic: controller == "cubic", begin: time.Now(),
		observer: &observer{seed: given.seed, cutback: -1},
		accepted: make(chan *quic.ReceiveStream, 1), written: make(chan int, 1), failed: make(chan error, 1),
	}
	config, err := configOf(given)
	if err != nil {
		return nil, err
	}
	secured, err := tlsOf(given.isSender)
	if err != nil {
		return nil, err
	}
	if given.isSender {
		err = s.prepareSender(config, secured)
	} else {
		err = s.prepareReceiver(config, secured)
	}
	s.answer.ready("quic-go "+version, controller)
	return s, err
}

func (s *stack) prepareSender(config *quic.Config, secured *tls.Config) error {
	var err error
	s.zeros, err = syscall.Mmap(-1, 0, pieceBytes, syscall.PROT_READ,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		return err
	}
	s.observer.folder = os.Getenv("CWNDLAB_STACK_LOGS")
	config.Tracer = s.observer.trace
	quic.HostedOnDial(s.opened)
	s.line = quic.NewHostedLine(senderAddress, receiverAddress, s.answer.send)
	s.transport = &quic.Transport{Conn: s.line}
	s.dial = func() error {
		_, err := s.transport.Dial(context.Background(), receiverAddress, secured, config)
		return err
	}
	return nil
}

func (s *stack) prepareReceiver(config *quic.Config, secured *tls.Config) error {
	s.buffer = make([]byte, 1<<16)
	s.line = quic.NewHostedLine(receiverAddress, senderAddress, s.answer.send)
	s.transport = &quic.Transport{Conn: s.line}
	listener, err := s.transport.Listen(secured, config)
	if err != nil {
		return err
	}
	go func() {
		conn, err := listener.Accept(context.Background())
		if err != nil {
			s.failed <- err
			return
		}
		s.opened(conn)
		if stream, err := conn.AcceptUniStream(context.Background()); err == nil {
			s.accepted <- stream
		}
	}()
	return nil
}

// opened takes a connection.
func (s *stack) opened(conn *quic.Conn) {
	s.conn = conn
	conn.HostedPrepare(s.useCubic)
}
