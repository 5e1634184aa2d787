package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/backsight/backsight/service/lab/fleet"
)

// sender plays a device by a connection of its own, with as little work as can be: it shares the processors with whom it measures.
type sender struct {
	conn net.Conn
	in   *bufio.Reader
	out  net.Buffers
	head []byte
}

func dial(s *fleet.Service) (*sender, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.Base, "http://"))
	if err != nil {
		return nil, err
	}
	return &sender{conn: conn, in: bufio.NewReaderSize(conn, longestLine)}, nil
}

// post sends a request of a path with its query, whose body is in parts, and returns the answer's body, which holds until the next one.
func (s *sender) post(path string, body ...[]byte) (answer []byte, err error) {
	size := 0
	for _, part := range body {
		size += len(part)
	}
	s.head = append(append(append(s.head[:0], "POST "...), path...), " HTTP/1.1\r\nHost: x\r\nContent-Length: "...)
	s.head = append(strconv.AppendInt(s.head, int64(size), 10), "\r\n\r\n"...)
	if size < smallBody { // one segment, one call
		for _, part := range body {
			s.head = append(s.head, part...)
		}
		_, err = s.conn.Write(s.head)
	} else {
		s.out = append(append(s.out[:0], s.head), body...)
		all := s.out
		_, err = all.WriteTo(s.conn)
	}
	if err != nil {
		return nil, err
	}
	return s.answer()
}

// Bounds of what a sender reads and copies: a line of an answer's head or its whole body, and a body that goes with its head.
const longestLine, smallBody = 16 << 10, 16 << 10

// answer reads what HTTP/1.1 servers answer: a status, lines of which one is the length of the body, and the body.
func (s *sender) answer() ([]byte, error) {
	line, err := s.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	if len(line) < len("HTTP/1.1 200") {
		return nil, fmt.Errorf("no answer: %q", line)
	}
	ok, status := line[len("HTTP/1.1 ")] == '2', string(line[len("HTTP/1.1 "):len("HTTP/1.1 200")])
	size := -1
	for {
		if line, err = s.in.ReadSlice('\n'); err != nil {
			return nil, err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			break
		}
		if value, is := bytes.CutPrefix(line, []byte("Content-Length: ")); is {
			if size, err = strconv.Atoi(string(value)); err != nil {
				return nil, err
			}
		}
	}
	if size < 0 || size > longestLine {
		return nil, errors.New("an answer without a length, or a long one")
	}
	body, err := s.in.Peek(size)
	if err == nil {
		_, err = s.in.Discard(size)
	}
	if err == nil && !ok {
		err = fmt.Errorf("%w %s: %s", errRefused, status, body)
	}
	return body, err
}

// errRefused is an answer that is none of success. The connection may be closed after one.
var errRefused = errors.New("refused")

// dialAll makes connections to nodes, so many of each.
func dialAll(nodes []*fleet.Service, each int) (list []*sender, closed func(), err error) {
	closed = func() {
		for _, s := range list {
			_ = s.conn.Close() // nothing waits to be sent
		}
	}
	for range each {
		for _, n := range nodes {
			s, err := dial(n)
			if err != nil {
				closed()
				return nil, nil, err
			}
			list = append(list, s)
		}
	}
	return list, closed, nil
}
