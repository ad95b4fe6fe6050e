// Package python holds an application in Python's standard library alone, and the
// tests of it: kar.py is what the wire asks of a language, in about 200 lines, and
// bank.py is a bank built on it. See docs/languages.md.
package python
