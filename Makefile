# Everything that is built lies under .build/ (SwiftPM) and build/.
PREFIX ?= /usr/local
DESTDIR ?=

SECONDS ?= 60
SEED ?= 1
QUERIES ?= 20000

.PHONY: help setup lib demo live test install crash whole observers crash-controls threads sanitize fuzz faults powercut queries query-controls query-cases bench docs fresh clean

help:
	@echo 'make setup     install what building and testing needs (Debian 12; apt as root)'
	@echo 'make lib       build build/lib/libobjstore.so and the command-line tool, build/bin/objstore'
	@echo 'make demo      cities and countries of the world: import, ask, kill a writer; checks every answer'
	@echo 'make live      a table of the largest cities while another process changes them; q ends it'
	@echo 'make test      every test, then a table'
	@echo 'make install   install library, header, tool, CMake and pkg-config files; PREFIX=$(PREFIX) DESTDIR='
	@echo 'make crash     random crashes and errors on the simulated machine; SECONDS=$(SECONDS) SEED=$(SEED)'
	@echo 'make whole     random histories over the whole object model, half on the simulated machine; SECONDS=$(SECONDS) SEED=$(SEED)'
	@echo 'make observers random histories of observers, whose change sets are compared with plain loops; SECONDS=$(SECONDS) SEED=$(SEED)'
	@echo 'make crash-controls   injected bugs, each of which must be caught; SECONDS each'
	@echo 'make threads   pinned scans while pages are reused, and a bug that they must find'
	@echo 'make sanitize  threads, hostile files and tests under ThreadSanitizer and AddressSanitizer'
	@echo 'make fuzz      hostile store files, logs, signatures, JSON and queries, by chance and by libFuzzer; SECONDS=$(SECONDS) each, SEED=$(SEED)'
	@echo 'make faults    every system call of a history of two processes fails once, with every error'
	@echo 'make powercut  power cuts after any call that real processes made; SECONDS=$(SECONDS) SEED=$(SEED)'
	@echo 'make queries   random queries, each asked in many ways, beside the oracle of queries; QUERIES=$(QUERIES) SEED=$(SEED)'
	@echo 'make query-controls   injected bugs of queries, each of which must be caught; SEED=$(SEED)'
	@echo 'make query-cases   captured queries with their answers; CASES=file'
	@echo 'make bench     benchmarks beside SQLite, LMDB, RocksDB, DuckDB; CASES=commit_1,count_int N=100000,1000000 FIFO=1'
	@echo 'make docs      reference of the C and the Swift interface: build/docs/index.html'
	@echo 'make fresh     run other targets in a bare Debian 12; TARGETS="demo test", as root'
	@echo 'make clean     remove .build/ and build/'

setup:
	@scripts/setup

lib:
	@scripts/build-lib
	@scripts/build-tool

demo:
	@scripts/setup
	@demo/run

live:
	@scripts/setup
	@demo/run live

test:
	@scripts/test

crash:
	@scripts/crash random --seconds $(SECONDS) --seed $(SEED)

whole:
	@scripts/crash whole --seconds $$(( $(SECONDS) / 2 )) --seed $(SEED)
	@scripts/crash whole --machine real --seconds $$(( $(SECONDS) / 2 )) --seed $(SEED)

observers:
	@scripts/crash observers --seconds $$(( $(SECONDS) / 2 )) --seed $(SEED)
	@for kind in silence lists sections paths collections; do \
		scripts/crash $$kind --seconds $$(( $(SECONDS) / 10 + 1 )) --seed $(SEED) || exit 1; done

crash-controls:
	@scripts/crash controls --seconds $(SECONDS)

threads:
	@scripts/threads ci

sanitize:
	@scripts/sanitize

fuzz:
	@scripts/fuzz all --seconds $(SECONDS) --seed $(SEED)
	@scripts/fuzz libfuzzer --seconds $(SECONDS) --seed $(SEED)
	@scripts/fuzz libfuzzer-query --seconds $(SECONDS) --seed $(SEED)
	@scripts/fuzz control

faults:
	@Tests/Faults/faults.sh all

powercut:
	@Tests/Faults/powercut.sh --seconds $(SECONDS) --seed $(SEED)

queries: lib
	@Tests/QueryOracle/ask random --scalars --queries $(QUERIES) --seed $(SEED)
	@Tests/QueryOracle/ask random --queries $$(( $(QUERIES) / 5 )) --seed $(SEED)

query-controls: lib
	@Tests/QueryOracle/ask controls --seed $(SEED)

# A CASES= of `make bench` is another thing.
query-cases: lib
	@Tests/QueryOracle/ask cases '$(CASES)'

install:
	cmake -S . -B build/cmake -DCMAKE_INSTALL_PREFIX="$$(realpath -m -- '$(PREFIX)')" -DCMAKE_BUILD_TYPE=Release
	cmake --build build/cmake
	DESTDIR='$(DESTDIR)' cmake --install build/cmake

# CASES=, N= and the other variables of Benchmarks/run go on to it.
bench: lib
	@scripts/setup-bench
	@Benchmarks/run

docs:
	@scripts/docs

fresh:
	@scripts/fresh $(TARGETS)

clean:
	rm -rf --one-file-system .build build
