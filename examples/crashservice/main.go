// Command crashservice turns core files into JSON: over HTTP, or from standard input.
//
//	crashservice -sysroot DIR < core > crash.json
//	crashservice -sysroot DIR -listen localhost:8080
//	curl --data-binary @core localhost:8080/
//
// The service reads each upload in a process of its own, which is this program with the upload as
// standard input: what strangers send may cost that process its memory or its time, and nobody else.
// What it takes from the library is in crash.go; it writes JSON of its own design and does without
// package render.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// limits are what uploads may cost. Sizes are in MiB.
type limits struct {
	parallel int           // uploads that are read at a time
	queue    int           // those that wait besides
	uploads  int           // those that come in, too
	memory   int           // of the process that reads one
	upload   int           // as it is sent
	unpacked int           // as it lies in a temporary file
	time     time.Duration // to read one
	transfer time.Duration // to receive an upload or to send an answer
	silence  time.Duration // without a byte from who sends
}

func main() {
	log.SetFlags(0)
	var l limits
	sysroot := flag.String("sysroot", "", "the folder with the crashed machine's files")
	listen := flag.String("listen", "", "the address to serve at; without one, standard input is read")
	flag.IntVar(&l.parallel, "parallel", 2, "how many cores are read at a time")
	flag.IntVar(&l.queue, "queue", 16, "how many more may wait; those beyond are told to come later")
	flag.IntVar(&l.uploads, "uploads", 512, "how many may come in at a time, waiting ones included")
	flag.IntVar(&l.memory, "memory", 256, "MiB of memory to read a core with")
	flag.IntVar(&l.upload, "upload", 1<<10, "MiB of a core as sent")
	flag.IntVar(&l.unpacked, "unpacked", 8<<10, "MiB of a core unpacked, on disk")
	flag.DurationVar(&l.time, "time", time.Minute, "how long a core may be read")
	flag.DurationVar(&l.transfer, "transfer", 5*time.Minute, "how long a core or an answer may be under way")
	flag.DurationVar(&l.silence, "silence", 10*time.Second, "how long a client that sends may be silent")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := l.run(ctx, *sysroot, *listen)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func (l *limits) run(ctx context.Context, sysroot, listen string) error {
	if listen != "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		return serve(ctx, listen, newService(*l, self, l.reader(sysroot)...))
	}
	if err := l.boundMemory(); err != nil {
		return err
	}
	c, err := readCrash(ctx, sysroot, os.Stdin, int64(l.unpacked)<<20)
	if err != nil {
		return err
	}
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

// serve answers until ctx ends. Every process that reads for a client ends with it.
func serve(ctx context.Context, address string, s *service) error {
	server := s.server()
	server.Addr, server.BaseContext = address, func(net.Listener) context.Context { return ctx }
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ended <- server.Shutdown(context.Background())
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}
