package api_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
)

// mailServer is a server of mail (RFC 5321) that takes one mail and writes it down.
type mailServer struct {
	addr string
	got  chan string
}

func newMailServer(t *testing.T) *mailServer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := &mailServer{l.Addr().String(), make(chan string, 1)}
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		s.got <- converse(conn)
	}()
	return s
}

// converse is all that a client says.
func converse(conn net.Conn) string {
	var all strings.Builder
	fmt.Fprint(conn, "220 x\r\n")
	in := bufio.NewReader(conn)
	data := false
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return all.String()
		}
		all.WriteString(line)
		switch {
		case data && line == ".\r\n":
			data = false
			fmt.Fprint(conn, "250 ok\r\n")
		case data:
		case strings.HasPrefix(line, "DATA"):
			data = true
			fmt.Fprint(conn, "354 go\r\n")
		case strings.HasPrefix(line, "QUIT"):
			fmt.Fprint(conn, "221 bye\r\n")
			return all.String()
		default:
			fmt.Fprint(conn, "250 ok\r\n")
		}
	}
}
