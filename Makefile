# Copyright (c) 2026, crawl.egress contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# `make test` and `make demo` do all of their own set-up. Environments, caches and scratch are in .venv/ and .ansible/.

.NOTPARALLEL:
.PHONY: help test test-fast demo bench lint ruff mypy yamllint ansible-lint changelog docs format unit unit-oldest cluster kubernetes kubernetes-oldest sanity sanity-oldest molecule molecule-kubernetes venvs pins clean

NEWEST := .venv/newest/bin
OLDEST := .venv/oldest/bin
TREE := $(CURDIR)/.ansible/tree
LINK := $(TREE)/ansible_collections/crawl/egress
# ANSIBLE_HOME keeps what Ansible and its tools write out of the user's ~/.ansible
ENV = PATH="$(CURDIR)/$(1):$$PATH" ANSIBLE_HOME="$(CURDIR)/.ansible" ANSIBLE_COLLECTIONS_PATH="$(TREE)" NO_COLOR=1
PYTEST := -m pytest -q -n 2
# where Debian keeps squid
export PATH := $(PATH):/usr/sbin:/sbin

help: ## show this
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

test: ## everything: lint, tests and sanity on the newest and the oldest ansible-core, molecule
	@tools/test.sh

test-fast: $(NEWEST) ## the unit tests on the newest ansible-core
	$(NEWEST)/python $(PYTEST) tests/unit

lint: ruff mypy yamllint ansible-lint changelog docs ## check code, YAML, changelog and documentation

ruff: $(NEWEST)
	$(NEWEST)/ruff check --output-format concise .
	$(NEWEST)/ruff format --check .

mypy: $(NEWEST) $(LINK)
	$(NEWEST)/mypy

yamllint: $(NEWEST)
	$(NEWEST)/yamllint --strict .

ansible-lint: $(NEWEST) $(LINK)
	$(call ENV,$(NEWEST)) ansible-lint -q --strict

changelog: $(NEWEST)
	$(call ENV,$(NEWEST)) antsibull-changelog lint

docs: $(NEWEST) $(LINK)
	$(call ENV,$(NEWEST)) antsibull-docs lint-collection-docs --plugin-docs --skip-rstcheck .

format: $(NEWEST) ## let ruff format and fix the Python code
	$(NEWEST)/ruff check --fix .
	$(NEWEST)/ruff format .

demo: $(LINK) ## a fleet of proxies: made, used, healed, scaled and taken away
	@tools/demo.sh

bench: $(NEWEST) $(LINK) ## the figures that are reported, not asserted
	$(NEWEST)/python bench/core.py
	$(NEWEST)/python bench/tasks.py
	$(NEWEST)/python bench/inventory.py
	if tools/cluster.sh possible; then tools/cluster.sh && $(NEWEST)/python bench/pods.py; fi

unit: $(NEWEST)
	$(NEWEST)/python $(PYTEST)

unit-oldest: $(OLDEST)
	$(OLDEST)/python $(PYTEST)

cluster: ## build the Kubernetes test cluster: some minutes, once per machine
	@tools/cluster.sh

kubernetes: $(NEWEST) cluster ## the tests on a real Kubernetes API
	$(NEWEST)/python $(PYTEST) --dist loadgroup tests/kubernetes

kubernetes-oldest: $(OLDEST) cluster
	$(OLDEST)/python $(PYTEST) --dist loadgroup tests/kubernetes

sanity: $(NEWEST)
	$(NEWEST)/python tools/sanity.py

sanity-oldest: $(OLDEST)
	$(OLDEST)/python tools/sanity.py --test import --test validate-modules

molecule: $(NEWEST) $(LINK)
	$(call ENV,$(NEWEST)) molecule test --no-command-borders --all --exclude kubernetes

molecule-kubernetes: $(NEWEST) $(LINK) cluster
	$(call ENV,$(NEWEST)) PYTHONPATH="$(TREE)" $(NEWEST)/python tools/molecule_kubernetes.py

venvs: $(NEWEST) $(OLDEST) ## make or update both environments

# always asked: the script knows whether the environment is up to date
$(NEWEST) $(OLDEST): .venv/%/bin: FORCE
	@tools/venv.sh $*
FORCE:

$(LINK):
	mkdir -p $(@D)
	ln -sfn ../../../.. $@

pins: $(NEWEST) ## resolve requirements/*.in anew
	$(NEWEST)/python -m pip install -qq uv
	for pins in newest:3.12 oldest:3.11; do $(NEWEST)/uv pip compile -q --upgrade --universal --no-header --no-annotate \
		--python-version $${pins#*:} -o requirements/$${pins%:*}.txt requirements/$${pins%:*}.in || exit; done

clean: ## remove environments, caches and scratch
	rm -rf .ansible .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache build collections
	find . -name __pycache__ -prune -exec rm -rf {} +
