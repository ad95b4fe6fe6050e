//go:build !linux

package main

import "errors"

func freeSpace(string) (uint64, error) { return 0, errors.ErrUnsupported }

func inodes(string) (free, all uint64, err error) { return 0, 0, errors.ErrUnsupported }

func openFiles() (uint64, error) { return 0, errors.ErrUnsupported }
