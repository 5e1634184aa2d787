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

// soak is a service while clients harm it.
type soak struct {
	Service
	url   string
	mu    sync.Mutex
	posts Posts
	peak  int64
}

// Soak starts the service, has all kinds of clients post to it at once, and returns what they were told and the most memory
// that its processes had, in bytes. The error says what went wrong: the service ended or took more than it may,
// an honest core was neither answered nor told to come later, or something went on after all clients had left.
func (s Service) Soak(ctx context.Context) (posts Posts, peak int64, err error) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return nil, 0, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil { // the service takes the port
		return nil, 0, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := child.Command(ctx, s.Command[0], append(slices.Clone(s.Command[1:]), "-listen", address)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	k := soak{Service: s, url: "http://" + address + "/", posts: Posts{}}
	go k.watch(ctx, cmd.Process.Pid)
	k.harm(ctx)
	err = k.judge(ctx, cmd.Process.Pid)
	select {
	case early := <-ended:
		err = errors.Join(err, fmt.Errorf("the service ended: %v", early))
	default:
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.posts, k.peak, err
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
				if status := client(ctx, i); ctx.Err() == nil {
					k.told(kind, status)
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
	if k.posts[kind] == nil {
		k.posts[kind] = map[int]int{}
	}
	k.posts[kind][status]++
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
func (k *soak) watch(ctx context.Context, pid int) {
	for ctx.Err() == nil {
		sum := resident(pid)
		for _, c := range children(pid) {
			sum += resident(c)
		}
		k.mu.Lock()
		k.peak = max(k.peak, sum)
		k.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
	}
}

// judge looks at a service that all clients but one have left.
func (k *soak) judge(ctx context.Context, pid int) (err error) {
	for range 30 {
		time.Sleep(time.Second)
		if len(children(pid)) == 0 {
			break
		}
	}
	if n := len(children(pid)); n > 0 {
		err = fmt.Errorf("%d processes go on without a client", n)
	}
	if status := k.post(ctx, k.Core); status != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("the honest core, afterwards: status %d", status))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for status, n := range k.posts["honest core"] {
		if status != http.StatusOK && status != http.StatusServiceUnavailable {
			err = errors.Join(err, fmt.Errorf("the honest core: %d times status %d", n, status))
		}
	}
	if k.peak > k.Most {
		err = errors.Join(err, fmt.Errorf("%d MB of memory", k.peak>>20))
	}
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
