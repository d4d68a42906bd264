// Command hello is what the test of build builds.
package main

import "fmt"

func main() { fmt.Println("hello") }
