// Program is linked by tests, which read its tables.
package main

func main() { println("backsight") }
