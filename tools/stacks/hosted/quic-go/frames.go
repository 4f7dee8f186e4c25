package hosted

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The protocol of hosted stacks (docs/host.md).
const (
	protocolVersion = 1
	endless         = 1<<64 - 1
)

// Kinds of the items of a call and of an answer.
const (
	itemStart = iota + 1
	itemNow
	itemTimer
	itemDatagram
	itemWrite
	itemFinish
	itemPause

	itemReady     = 17
	itemSend      = 18
	itemNext      = 19
	itemDelivered = 20
	itemValue     = 21
	itemDone      = 22
	itemFailure   = 23
)

// Codes of the values that a stack reports.
const (
	valueWindow = iota + 1
	valueThreshold
	valueInFlight
	valueSmoothedRTT
	valueRTT
	valuePacingRate
	valueLostPackets
	valueCongestionEvents
	valueLostBytes
	valueTimeouts
	valueMinRTT
)

var errShort = errors.New("a call ends within an item")

// A call is what remains of a frame that is read.
type call []byte

// readCall reads the next frame; io.EOF: there is none.
func readCall(source *bufio.Reader) (call, error) {
	var length [4]byte
	if _, err := io.ReadFull(source, length[:]); err != nil {
		return nil, io.EOF
	}
	frame := make(call, binary.LittleEndian.Uint32(length[:]))
	if _, err := io.ReadFull(source, frame); err != nil {
		return nil, io.EOF
	}
	return frame, nil
}

// bytes takes a number of bytes. The simulator writes whole items, so that a shorter frame is a fault of its own.
func (c *call) bytes(count int) []byte {
	if len(*c) < count {
		panic(errShort)
	}
	taken := (*c)[:count]
	*c = (*c)[count:]
	return taken
}

func (c *call) byte() byte      { return c.bytes(1)[0] }
func (c *call) uint16() uint16  { return binary.LittleEndian.Uint16(c.bytes(2)) }
func (c *call) uint64() uint64  { return binary.LittleEndian.Uint64(c.bytes(8)) }
func (c *call) payload() []byte { return c.bytes(int(c.uint16())) }

// A start is the first call.
type start struct {
	isSender    bool
	seed        uint64
	maxDatagram uint16
	controller  string
	options     string
}

func (c call) start() (start, error) {
	if c.byte() != itemStart || c.byte() != protocolVersion {
		return start{}, fmt.Errorf("this stack has version %d of the protocol", protocolVersion)
	}
	isSender := c.byte() == 0
	return start{isSender, c.uint64(), c.uint16(), string(c.payload()), string(c.payload())}, nil
}

// An answer is a frame that is written, after four bytes for its length.
type answer struct {
	frame []byte
	// known are the last values, each of which is written when it changes.
	known map[byte]uint64
}

func newAnswer() *answer { return &answer{make([]byte, 4, 1<<16), map[byte]uint64{}} }

// write writes the answer, and begins the next one.
func (a *answer) write(sink io.Writer) error {
	binary.LittleEndian.PutUint32(a.frame, uint32(len(a.frame)-4))
	_, err := sink.Write(a.frame)
	a.frame = a.frame[:4]
	return err
}

func (a *answer) number(kind byte, number uint64) {
	a.frame = binary.LittleEndian.AppendUint64(append(a.frame, kind), number)
}

func (a *answer) text(text string) {
	a.frame = append(binary.LittleEndian.AppendUint16(a.frame, uint16(len(text))), text...)
}

func (a *answer) ready(name, controller string) {
	a.frame = append(a.frame, itemReady)
	a.text(name)
	a.text(controller)
}

func (a *answer) send(ecn byte, payload []byte) {
	a.frame = append(a.frame, itemSend, ecn)
	a.text(string(payload))
}

func (a *answer) done() { a.frame = append(a.frame, itemDone) }

func (a *answer) failure(text string) {
	a.frame = append(a.frame, itemFailure)
	a.text(text[:min(len(text), 1000)])
}

// value reports a value that has changed, and every sample of the RTT.
func (a *answer) value(code byte, number uint64) {
	if last, isKnown := a.known[code]; isKnown && last == number && code != valueRTT {
		return
	}
	a.known[code] = number
	a.frame = append(a.frame, itemValue)
	a.number(code, number)
}
