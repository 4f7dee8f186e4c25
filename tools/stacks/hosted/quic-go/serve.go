package hosted

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go"
)

// serve answers calls until standard input ends.
func (s *stack) serve(source *bufio.Reader) {
	for {
		if err := s.answer.write(os.Stdout); err != nil {
			break
		}
		next, err := readCall(source)
		if err != nil {
			break
		}
		s.call(next)
	}
	if err := s.observer.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// call answers a call. After each of its items all goroutines become idle.
func (s *stack) call(items call) {
	for len(items) > 0 {
		switch kind := items.byte(); kind {
		case itemNow:
			time.Sleep(time.Duration(items.uint64()) - time.Since(s.begin))
		case itemTimer: // has expired by the time
		case itemDatagram:
			s.observer.hold()
			s.line.Deliver(items.byte(), items.payload())
		case itemWrite:
			if s.isFinishing {
				s.answer.failure("this stack opens one connection")
				return
			}
			s.write(items.uint64())
		case itemFinish:
			s.pause()
			s.isFinishing = true
		case itemPause:
			s.pause()
		default:
			panic(fmt.Sprintf("no item of a call has the kind %d", kind))
		}
		s.settle()
	}
	s.finishAnswer()
}

// write has further bytes to send, and connects.
func (s *stack) write(count uint64) {
	s.toWrite += min(count, endless-s.toWrite)
	if dial := s.dial; dial != nil {
		s.dial = nil
		go func() {
			if err := dial(); err != nil {
				s.failed <- err
			}
		}()
	}
}

// pause ends an endless supply: what quic-go has put into packets it still sends.
func (s *stack) pause() {
	if s.toWrite != endless {
		return
	}
	s.toWrite = 0
	if s.isWriting {
		s.outgoing.SetWriteDeadline(time.Now())
		synctest.Wait()
		<-s.written
		s.isWriting = false
		s.outgoing.SetWriteDeadline(time.Time{})
	}
}

// settle waits until all goroutines are idle and the application has nothing to do.
func (s *stack) settle() {
	for synctest.Wait(); s.act(); synctest.Wait() {
	}
	s.observer.release()
	if s.conn != nil && s.isSender {
		s.observer.sample(s.conn, s.answer)
	}
}

// act does what the application has to do next; whether there was anything.
func (s *stack) act() bool {
	select {
	case s.incoming = <-s.accepted:
		return true
	case count := <-s.written:
		s.isWriting = false
		if s.toWrite != endless {
			s.toWrite -= uint64(count)
		}
		return true
	default:
	}
	if s.conn == nil || s.conn.Context().Err() != nil {
		return false
	}
	return s.actAsSender() || s.read()
}

// actAsSender opens the stream, writes to it, ends it, and closes the connection.
func (s *stack) actAsSender() bool {
	switch {
	case !s.isSender || s.isWriting:
		return false
	case s.outgoing == nil:
		select {
		case <-s.conn.HandshakeComplete():
		default:
			return false
		}
		var err error
		if s.outgoing, err = s.conn.OpenUniStream(); err != nil {
			s.failed <- err
		}
		return err == nil
	case s.toWrite > 0:
		piece := s.zeros[:min(s.toWrite, uint64(len(s.zeros)))]
		s.isWriting = true
		go func() {
			count, _ := s.outgoing.Write(piece)
			s.written <- count
		}()
		return true
	case s.isFinishing && !s.isFinished:
		s.isFinished = true
		s.outgoing.Close()
		return true
	case s.isFinished && !s.isDone && s.outgoing.HostedIsAcked():
		s.isDone = true
		s.answer.done()
		s.conn.CloseWithError(0, "")
		return true
	}
	return false
}

// read takes what has arrived in order.
func (s *stack) read() bool {
	if s.incoming == nil || !s.incoming.HostedIsReadable() {
		return false
	}
	count, err := s.incoming.Read(s.buffer)
	s.delivered += uint64(count)
	if err != nil {
		s.incoming = nil
	}
	return true
}

// failure is the error of a connection that has not ended as it should; nil: there is none.
func (s *stack) failure() error {
	select {
	case err := <-s.failed:
		return err
	default:
	}
	if s.conn == nil || s.isDone || s.conn.Context().Err() == nil {
		return nil
	}
	cause := context.Cause(s.conn.Context())
	if closed, ok := errors.AsType[*quic.ApplicationError](cause); ok && closed.ErrorCode == 0 {
		return nil
	}
	return cause
}

// finishAnswer adds what the state is after all events.
func (s *stack) finishAnswer() {
	if err := s.failure(); err != nil {
		s.answer.failure(err.Error())
		return
	}
	if s.conn != nil && s.isSender {
		s.observer.report(s.conn, s.answer)
	}
	isOver := s.conn != nil && s.conn.Context().Err() != nil
	if deadline, isSet := quic.HostedDeadline(); isSet && !isOver {
		s.answer.number(itemNext, uint64(deadline))
	}
	s.answer.number(itemDelivered, s.delivered)
}
