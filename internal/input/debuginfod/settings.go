package debuginfod

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// settings are what the environment says, by the names of debuginfod_find_debuginfo(3).
type settings struct {
	urls  []string
	cache string
	// maxSize bounds an answer, in bytes; stalled is how long a server may send nothing, and
	// longest how long an answer may take.
	maxSize          int64
	stalled, longest time.Duration
	packed           bool // servers may compress what they send
}

// What holds where the environment says nothing. The size is that of no debug file known:
// Chromium's has 3 GB.
const (
	defaultMaxSize = 8 << 30
	defaultStalled = 90 * time.Second
	defaultLongest = time.Hour
	// defaultMissAge is how long an empty file in the cache tells that no server has the file.
	defaultMissAge = 10 * time.Minute
)

func readSettings(urls string, getenv func(string) string) (s settings, err error) {
	if urls == "" {
		urls = getenv("DEBUGINFOD_URLS")
	}
	if s.urls, err = splitURLs(urls); err != nil {
		return s, err
	}
	if len(s.urls) == 0 {
		return s, errors.New("names no server, and DEBUGINFOD_URLS is not set")
	}
	if s.cache = cacheDir(getenv); s.cache == "" {
		return s, errors.New("no place for the cache: DEBUGINFOD_CACHE_PATH, XDG_CACHE_HOME and HOME are not set")
	}
	s.maxSize = defaultMaxSize
	s.stalled, s.longest = seconds(getenv("DEBUGINFOD_TIMEOUT"), defaultStalled), seconds(getenv("DEBUGINFOD_MAXTIME"), defaultLongest)
	if n, err := strconv.ParseInt(getenv("DEBUGINFOD_MAXSIZE"), 10, 64); err == nil && n > 0 {
		s.maxSize = min(n, math.MaxInt64-1) // get reads one byte more, to tell that there are more
	}
	return s, nil
}

// cacheDir is where elfutils keeps what it fetched.
func cacheDir(getenv func(string) string) string {
	if dir := getenv("DEBUGINFOD_CACHE_PATH"); dir != "" {
		return dir
	}
	home := getenv("HOME")
	if home != "" {
		old := filepath.Join(home, ".debuginfod_client_cache")
		if st, err := os.Stat(old); err == nil && st.IsDir() {
			return old
		}
	}
	dir := getenv("XDG_CACHE_HOME")
	if dir == "" && home != "" {
		dir = filepath.Join(home, ".cache")
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "debuginfod_client")
}

// seconds reads a whole number of seconds; what is none, or not positive, is usual.
func seconds(s string, usual time.Duration) time.Duration {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 31)
	if err != nil || n == 0 {
		return usual
	}
	return time.Duration(n) * time.Second
}

// missAge is how long a file that no server had is not asked for again: elfutils lets users
// set it by a file in the cache.
func (s *settings) missAge() time.Duration {
	b, err := os.ReadFile(filepath.Join(s.cache, "cache_miss_s"))
	if err != nil {
		return defaultMissAge
	}
	return seconds(string(b), defaultMissAge)
}
