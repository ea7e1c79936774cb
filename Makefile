# SPDX-License-Identifier: Apache-2.0
# Short names for commands with CMake's presets; CONTRIBUTING.md describes these.

JOBS ?= $(shell nproc)
CLANG_FORMAT ?= clang-format-16
SOURCES = git ls-files -z --cached --others --exclude-standard '*.hpp' '*.cpp'

.DEFAULT_GOAL = help
.PHONY: help run test bench lab peers model model-orders mutants format format-check clean

help:
	@echo 'make run            build and serve a chat in C++ and a poll in Lua; ARGS="--port 9000" goes to it'
	@echo 'make test           build everything and run all tests; CONFIGURE="-D..." goes to CMake'
	@echo 'make bench          build and run the benchmarks; ARGS=--smoke for a short run'
	@echo 'make bench REV=main~3   what is slower or faster than there; ARGS="--rounds 20 --filter pool"'
	@echo 'make lab            build the lab and list its experiments; ARGS=pingpong runs one'
	@echo 'make peers          measure all engines, and write the tables in docs/; takes 20 minutes'
	@echo 'make model          run the model checker and print its tables'
	@echo 'make model-orders   weaken every memory order: does a check find it?'
	@echo 'make mutants        plant errors one at a time: does a test find each? ARGS="--only http --minutes 30"'
	@echo 'make format         format all sources with clang-format 16'
	@echo 'make format-check   report what is not formatted'
	@echo 'make clean          remove build/'
	@echo 'The first seven and mutants install what is missing: see scripts/install-dependencies.'

# The first configuration leaves out the tests, and with them their dependencies.
run:
	@scripts/install-dependencies run
	@[ -e build/release/build.ninja ] || cmake --preset release -DTROUPE_TESTS=OFF -DTROUPE_BENCHMARKS=OFF
	@cmake --build --preset release --parallel $(JOBS) --target together
	@exec build/release/bin/together examples/together/troupe.toml $(ARGS)

test:
	@scripts/install-dependencies test
	cmake --preset release -DTROUPE_COARSE_TESTS=ON $(CONFIGURE)
	cmake --build --preset release --parallel $(JOBS)
	ctest --preset release

# With REV it never fails because of its measurements.
ifdef REV
bench:
	@scripts/install-dependencies run
	@exec scripts/bench-compare --jobs $(JOBS) $(ARGS) -- '$(REV)'
else
bench:
	@scripts/install-dependencies run
	cmake --preset bench
	cmake --build --preset bench --parallel $(JOBS)
	@for program in build/bench/bin/*_bench; do echo "== $$program"; $$program $(ARGS) || exit; done
endif

lab:
	@scripts/install-dependencies run
	@[ -e build/bench/build.ninja ] || cmake --preset bench
	@cmake --build --preset bench --parallel $(JOBS) --target troupe
	@exec build/bench/bin/troupe lab $(ARGS)

peers:
	@scripts/install-dependencies peers
	@[ -e build/bench/build.ninja ] || cmake --preset bench
	@cmake --build --preset bench --parallel $(JOBS) --target troupe
	build/bench/bin/troupe lab peers all --repeat 5 --json build/bench/peers.json $(ARGS)
	scripts/peers-table build/bench/peers.json

model:
	@scripts/install-dependencies test
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target model
	ctest --preset model

model-orders:
	@scripts/install-dependencies test
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target model
	tests/model/orders.py build/release/bin/model_structures_test . \
	  --hints tests/model/orders.hints --write-hints

mutants:
	@scripts/install-dependencies test
	tests/mutants/run.py --jobs $(JOBS) $(ARGS)

format:
	@$(SOURCES) | xargs -0 -r $(CLANG_FORMAT) -i

format-check:
	@$(SOURCES) | xargs -0 -r $(CLANG_FORMAT) --dry-run -Werror

clean:
	rm -rf build
