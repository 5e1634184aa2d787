package plcrash

import "github.com/backsight/backsight/internal/input/darwin"

// The messages of PLCrashReport.proto, with its names. Optional fields that a report lacks have
// their zero value; pointers are nil.

type report struct {
	system    systemInfo
	app       applicationInfo
	threads   []thread
	images    []binaryImage
	exception *exception
	signal    signal
	process   *processInfo
	machine   *machineInfo
	info      *reportInfo
	custom    string
	room      darwin.Room
}

type systemInfo struct {
	os           uint64 // 0 macOS, 1 iOS, 2 simulator, 3 unknown, 4 tvOS
	version      string
	architecture uint64
	timestamp    int64
	build        string
}

type applicationInfo struct{ identifier, version, marketing string }

type thread struct {
	number    uint32
	frames    []stackFrame
	crashed   bool
	registers []register
	room      *darwin.Room
}

type stackFrame struct {
	pc     uint64
	symbol *symbol
}

type symbol struct {
	name       string
	start, end uint64
}

type register struct {
	name  string
	value uint64
}

type binaryImage struct {
	base, size uint64
	name       string
	uuid       []byte
	code       *processor
}

type processor struct{ encoding, typ, subtype uint64 }

type exception struct {
	name, reason string
	frames       []stackFrame
	room         *darwin.Room
}

type signal struct {
	name, code string
	address    uint64
	mach       *machException
}

type machException struct {
	typ   uint64
	codes []uint64
}

type processInfo struct {
	name       string
	id         uint32
	path       string
	parentName string
	parentID   uint32
	native     bool
	start      uint64
}

type machineInfo struct {
	model           string
	processor       processor
	cores, logicals uint32
}

type reportInfo struct {
	requested bool
	uuid      []byte
}
