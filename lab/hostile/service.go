package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/backsight/backsight/lab/child"
)

// Service says which crash service to post to, and for how long.
type Service struct {
	Command []string // such as examples/crashservice, without -listen
	Core    []byte   // which the service answers with a crash
	For     time.Duration
	Most    int64 // bytes of memory for all its processes
}

// Posts counts what a kind of client was told: HTTP statuses, 0 for none.
type Posts map[string]map[int]int

// Toll is what clients did to a service.
type Toll struct {
	Posts Posts
	// Peak is the most memory of all its processes together, Own that of the service itself, in bytes.
	Peak, Own int64
	// Before and After are the files that the service has open without a client.
	Before, After int
	// Goroutines of the service, after its clients have left.
	Goroutines int
}

// soak is a service while clients harm it.
type soak struct {
	Service
	url string
	pid int
	mu  sync.Mutex
	Toll
	hasty int // refusals that do not say when to come again
}

// Soak starts the service, has all kinds of clients post to it at once, and returns what that did to it. The error says
// what went wrong: the service ended or took more than it may, an honest core was neither answered nor told to come
// later, or something went on or stayed open after all clients had left.
func (s Service) Soak(ctx context.Context) (Toll, error) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return Toll{}, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil { // the service takes the port
		return Toll{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := child.Command(ctx, s.Command[0], append(slices.Clone(s.Command[1:]), "-listen", address)...)
	said := new(traces)
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		return Toll{}, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	k := soak{Service: s, url: "http://" + address + "/", pid: cmd.Process.Pid, Toll: Toll{Posts: Posts{}}}
	err = k.run(ctx)
	select {
	case early := <-ended:
		return k.Toll, errors.Join(err, fmt.Errorf("the service ended: %v", early))
	default:
	}
	err = errors.Join(err, cmd.Process.Signal(syscall.SIGQUIT)) // the Go runtime ends with a trace of each goroutine
	<-ended
	if k.Goroutines = said.goroutines; k.Goroutines > atRest {
		err = errors.Join(err, fmt.Errorf("%d goroutines without a client", k.Goroutines))
	}
	return k.Toll, err
}

// atRest is how many goroutines a service without clients may have: net/http, a signal's, and a few of its own.
const atRest = 32

// traces passes on what a process says but the traces of goroutines, which it counts.
type traces struct {
	line       []byte
	goroutines int
}

func (t *traces) Write(p []byte) (int, error) {
	for _, c := range p {
		if t.line = append(t.line, c); c != '\n' && len(t.line) < 1<<12 {
			continue
		}
		if bytes.HasPrefix(t.line, []byte("goroutine ")) {
			t.goroutines++
		}
		if t.goroutines == 0 {
			_, _ = os.Stderr.Write(t.line)
		}
		t.line = t.line[:0]
	}
	return len(p), nil
}

// run has the clients post between two looks at the service.
func (k *soak) run(ctx context.Context) error {
	for range 100 {
		if k.post(ctx, k.Core) == http.StatusOK {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	k.Before = k.descriptors()
	watching, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() { k.watch(watching); close(watched) }()
	k.harm(ctx)
	stop()
	<-watched
	return k.judge(ctx)
}

// descriptors is how many files the service has open once no connection is left (proc(5)).
func (k *soak) descriptors() (n int) {
	http.DefaultClient.CloseIdleConnections()
	time.Sleep(time.Second)
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", k.pid))
	return len(open)
}

// harm runs the clients for as long as they are to.
func (k *soak) harm(ctx context.Context) {
	bombs := uploads()
	ctx, stop := context.WithTimeout(ctx, k.For)
	defer stop()
	var clients sync.WaitGroup
	run := func(kind string, client func(ctx context.Context, i int) int) {
		clients.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				status := client(ctx, i)
				if ctx.Err() == nil {
					k.told(kind, status)
				}
				if status == http.StatusServiceUnavailable {
					time.Sleep(time.Second) // sooner than they are told to
				}
			}
		})
	}
	for n := range 4 {
		run("costly input", func(ctx context.Context, i int) int { return k.post(ctx, bombs[(4*i+n)%len(bombs)]) })
	}
	run("client that leaves", func(ctx context.Context, i int) int {
		ctx, leave := context.WithTimeout(ctx, time.Duration(i%20)*100*time.Millisecond)
		defer leave()
		return k.post(ctx, bombs[i%len(bombs)])
	})
	for range 200 {
		run("idle upload", func(context.Context, int) int { return k.idle() })
	}
	run("honest core", func(ctx context.Context, _ int) int {
		time.Sleep(time.Second)
		return k.post(ctx, k.Core)
	})
	clients.Wait()
}

// uploads are long texts and the captures of all cases, compressed.
func uploads() (out [][]byte) {
	const size = 512 // MiB, of half a MiB
	for _, piece := range []string{"\n", oops, ",{}"} {
		begin := "boot\n"
		if piece == ",{}" {
			begin = `{"arch":"mips-be","threads":[{}`
		}
		member := packed([]byte(strings.Repeat(piece, 1<<20/len(piece))))
		out = append(out, append(packed([]byte(begin)), bytes.Repeat(member, size)...))
	}
	for _, c := range Cases() {
		out = append(out, packed(c.files(c.n)[capture]))
	}
	return out
}

func packed(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(data) // to memory
	_ = w.Close()
	return b.Bytes()
}

func (k *soak) told(kind string, status int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.Posts[kind] == nil {
		k.Posts[kind] = map[int]int{}
	}
	k.Posts[kind][status]++
}

// post returns the status that an upload is answered with, 0 where none comes.
func (k *soak) post(ctx context.Context, body []byte) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, k.url, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	defer w.Body.Close()
	if w.StatusCode == http.StatusServiceUnavailable && w.Header.Get("Retry-After") == "" {
		k.mu.Lock()
		k.hasty++
		k.mu.Unlock()
	}
	if _, err := io.Copy(io.Discard, w.Body); err != nil {
		return 0
	}
	return w.StatusCode
}

// patience is how long a client waits for the service to end an upload that does not go on.
const patience = time.Minute

// idle begins an upload, sends no more, and returns the status that comes, 0 where the connection ends or stays.
func (k *soak) idle() (status int) {
	c, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(k.url, "http://"), "/"))
	if err != nil {
		time.Sleep(time.Second)
		return 0
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience)) // a connection of TCP has deadlines
	fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n\x7fELF")
	answer, _ := io.ReadAll(c)
	fmt.Sscanf(string(answer), "HTTP/1.1 %d", &status)
	return status
}

// watch keeps the most memory that the service and its processes had, until ctx ends.
func (k *soak) watch(ctx context.Context) {
	for ctx.Err() == nil {
		own := resident(k.pid)
		sum := own
		for _, c := range children(k.pid) {
			sum += resident(c)
		}
		k.Peak, k.Own = max(k.Peak, sum), max(k.Own, own)
		time.Sleep(10 * time.Millisecond)
	}
}

// judge looks at a service that all clients but one have left.
func (k *soak) judge(ctx context.Context) (err error) {
	wrong := func(is bool, format string, args ...any) {
		if is {
			err = errors.Join(err, fmt.Errorf(format, args...))
		}
	}
	for range 30 {
		time.Sleep(time.Second)
		if len(children(k.pid)) == 0 {
			break
		}
	}
	n := len(children(k.pid))
	wrong(n > 0, "%d processes go on without a client", n)
	status := k.post(ctx, k.Core)
	wrong(status != http.StatusOK, "the honest core, afterwards: status %d", status)
	k.After = k.descriptors()
	wrong(k.After > k.Before, "%d files are open, %d were before", k.After, k.Before)
	for status, n := range k.Posts["honest core"] {
		wrong(status != http.StatusOK && status != http.StatusServiceUnavailable, "the honest core: %d times status %d", n, status)
	}
	wrong(k.hasty > 0, "%d refusals do not say when to come again", k.hasty)
	wrong(k.Peak > k.Most, "%d MB of memory", k.Peak>>20)
	return err
}

// children are the processes that a process started (proc(5)).
func children(pid int) (out []int) {
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, t := range tasks {
		list, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, t.Name()))
		for _, f := range strings.Fields(string(list)) {
			if c, err := strconv.Atoi(f); err == nil {
				out = append(out, c)
			}
		}
	}
	return out
}
