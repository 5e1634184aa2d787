package sframe

// WriteVersion writes a version of the format that older readers know.
var WriteVersion = write
