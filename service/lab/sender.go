package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/backsight/backsight/service/lab/fleet"
)

// sender uploads by a connection of its own, with as little work as can be: it shares the processors with whom it measures.
type sender struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(s *fleet.Service) (*sender, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.Base, "http://"))
	if err != nil {
		return nil, err
	}
	return &sender{conn, bufio.NewReader(conn)}, nil
}

// upload sends a body whose first eight bytes are n, so that each is another one.
func (s *sender) upload(key string, n int64, body []byte) error {
	head := fmt.Appendf(nil, "POST /api/v1/captures?key=%s&device=box%d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", key, n%10_000, len(body)+8)
	head = binary.LittleEndian.AppendUint64(head, uint64(n))
	all := net.Buffers{head, body}
	if _, err := all.WriteTo(s.conn); err != nil {
		return err
	}
	resp, err := http.ReadResponse(s.in, nil)
	if err != nil {
		return err
	}
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return err
}

// uploads measures bodies of 200 kB from so many devices.
func (l *loader) uploads(s *fleet.Service) error {
	senders := make([]*sender, l.devices)
	for i := range senders {
		var err error
		if senders[i], err = dial(s); err != nil {
			return err
		}
		defer senders[i].conn.Close()
	}
	before, own := processor(s.PID()), processor(os.Getpid())
	first := rand.Int64N(1 << 62) // of bodies: others may send to the same database
	n, err := l.rate(l.devices, func(device int, n int64) error { return senders[device].upload(s.Key, first+n, l.body) })
	all := n * l.long.Seconds()
	fmt.Printf("uploads of 200 kB a second: %.0f (RSS %d MB); a second of the service's processor: %.0f, of the senders': %.0f\n", n,
		memory(s.PID())>>20, all/(processor(s.PID())-before), all/(processor(os.Getpid())-own))
	return err
}

// disk measures what the disk takes of as many bytes at a time as the service gets from all devices at once.
func (l *loader) disk(*fleet.Service) error {
	f, err := os.Create(l.data + "/disk")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var n int
	began := time.Now()
	for time.Since(began) < l.long {
		for range l.devices {
			w, err := f.Write(l.body)
			if n += w; err != nil {
				return err
			}
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	fmt.Printf("the disk itself: %.0f MB a second, %d kB between two synchronisations\n", float64(n)/time.Since(began).Seconds()/1e6,
		l.devices*len(l.body)/1000)
	return nil
}
