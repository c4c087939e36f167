#!/usr/bin/env python3
"""Writes golden.json: templates, what they are given, and what Jinja makes of them as transformers sets it up.

Needs python3-jinja2. Run it after a change of the cases here or in templates/:  tests/text/chat/make_golden.py
"""

import datetime
import json
import pathlib
import sys

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

HERE = pathlib.Path(__file__).resolve().parent
NOW = datetime.datetime(2025, 3, 7, 15, 4, 5)


class Generation(jinja2.ext.Extension):
    """A block that is a call of nothing: its body, in a scope of its own."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
    )
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = NOW.strftime
    return made


def outcome(template, given):
    try:
        return {"output": environment().from_string(template).render(**given)}
    except Exception as error:  # whatever kind: heed must refuse too
        return {"error": f"{type(error).__name__}: {error}"}


# Templates over one set of values, in groups by what they are about.
VALUES = {
    "n": 7, "x": 2.5, "yes": True, "nothing": None, "s": "Hello, World", "u": "Größe ǆ ΑΣ 😀", "empty": "",
    "list": [3, 1, 2], "words": ["b", "A", "c", "a"], "d": {"b": 1, "a": "two", "items": 5, "k k": [1, {"z": None}]},
    "spaces": "  a b\t c \n", "lines": "one\n\ntwo\r\nthree\n", "people": [
        {"name": "Ann", "age": 30, "tags": ["x"]}, {"name": "bob", "age": 25}, {"name": "Cy", "age": 30, "admin": True}],
    "html": "<a href=\"x\">'&'</a>", "none_list": [], "big": 1e16, "small": 0.00001, "third": 0.1,
}

CASES = {
    "literals": [
        "{{ 1 }} {{ 1_000 }} {{ 1.50 }} {{ 1e3 }} {{ 2.5e-7 }} {{ 'a' 'b' }} {{ \"q'q\" }} {{ true }} {{ None }} {{ False }}",
        r"{{ 'a\n\t\\\'\x41\u00e9\U0001F600\101\q' }}", "{{ [1, 'a', none, [2.0]] }} {{ (1,) }} {{ () }} {{ (1, 2) }}",
        "{{ {'a': 1, 2: 'b', none: [], (1, 2): 3} }}", "{{ {'a': 1, 'a': 2} }}", "{{ [1, 2,] }}", "{{ 1, 2 }}",
        "{{ 'it' ~ \"'s\" }} {{ ['it\\'s', 'a\"b', 'a\\nb', 'é😀', '\\x07', '\\u200b', 'a\\'b\"c'] }}",
        "{{ 1e16 }} {{ 123456789.0 }} {{ 1e22 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1.0 }} {{ -0.0 }} {{ 1/3 }}",
    ],
    "values": [
        "{{ n }} {{ x }} {{ yes }} {{ nothing }} {{ s }} {{ empty }}|{{ missing }}|{{ list }} {{ d }} {{ big }} {{ small }} {{ third }}",
        "{{ d.b }} {{ d['b'] }} {{ d.missing }}| {{ d['items'] }} {{ d['k k'][1].z }} {{ d.a.missing }}|",
        "{{ list[0] }} {{ list[-1] }} {{ list[9] }}|{{ list.0 }} {{ s[0] }} {{ u[2] }} {{ u[-1] }} {{ s[99] }}|",
        "{{ missing.a }}", "{{ missing['a'] }}", "{{ d.missing.a }}", "{{ nothing.a }}|{{ nothing['a'] }}|{{ n.a }}|", "{{ d[[1]] }}|",
        "{{ list['a'] }}|{{ s['a'] }}|{{ list.a }}|{{ s.a }}|",
        "{{ list[1:] }} {{ list[:-1] }} {{ list[::-1] }} {{ list[::2] }} {{ list[5:] }} {{ list[-9:2] }} {{ list[2:0:-1] }}",
        "{{ s[1:4] }} {{ s[::-1] }} {{ u[1:5] }} {{ u[::-2] }} {{ s[:-5] }} {{ s[7:] }} {{ (1,2,3)[1:] }} {{ u[-3:] }}",
        "{{ nothing[1:] }}", "{{ d[1:] }}", "{{ list['a':] }}", "{{ list[::0] }}", "{{ missing[1:] }}",
        "{{ list[True] }} {{ list[1.0] }}|",
    ],
    "arithmetic": [
        "{{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7 / 2 }} {{ 4 / 2 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ -2 ** 2 }} {{ 2 ** 3 ** 2 }}",
        "{{ 1.5 + 1 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }} {{ 2 ** 0.5 }} {{ true + 1 }} {{ -x }} {{ +n }} {{ - -1 }} {{ 1 - -1 }}",
        "{{ 'a' + 'b' }} {{ [1] + [2] }} {{ 'ab' * 3 }} {{ 3 * 'x' }} {{ [0] * 2 }} {{ 'a' * -1 }}|{{ (1,) + (2,) }}",
        "{{ 'a' + 1 }}", "{{ 1 + 'a' }}", "{{ [1] + (2,) }}", "{{ nothing + 1 }}", "{{ missing + 'a' }}", "{{ 'a' + missing }}",
        "{{ missing - 1 }}", "{{ -missing }}", "{{ 1 / 0 }}", "{{ 1 // 0 }}", "{{ 1 % 0 }}", "{{ 'a' - 'b' }}", "{{ {} + {} }}", "{{ - 'a' }}",
        "{{ 1 ~ 2 ~ none ~ true ~ [1] ~ missing ~ 1.0 }}", "{{ 'a' ~ 1 + 2 }}", "{{ 1 + 2 ~ 3 }}", "{{ 2 * 3 ~ 4 }}",
    ],
    "comparison": [
        "{{ 1 == 1.0 }} {{ 1 == true }} {{ 'a' == 'a' }} {{ [1] == [1.0] }} {{ [1] == (1,) }} {{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ none == false }} {{ 0 == '' }} {{ missing == gone }} {{ missing == none }}",
        "{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 < 2 > 1 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ [1] < [1, 0] }} {{ 2 >= 2.0 }} {{ 1 != 2 }} {{ 'Z' < 'a' }} {{ 'é' > 'z' }}",
        "{{ 1 < 'a' }}", "{{ none < 1 }}", "{{ {} < {} }}", "{{ missing < 1 }}", "{{ (1,) < [1] }}",
        "{{ 'ell' in s }} {{ 'x' not in s }} {{ 1 in list }} {{ 'b' in d }} {{ 9 not in list }} {{ 'a' in missing }} {{ 1 in (1, 2) }} {{ '' in '' }} {{ true in [1] }}",
        "{{ 1 in 'a' }}", "{{ 1 in 1 }}", "{{ 1 in none }}", "{{ missing in 'a' }}", "{{ not 1 == 2 }} {{ not not 1 }} {{ 1 == 1 in [true] }}",
    ],
    "logic": [
        "{{ 1 and 'a' }} {{ 0 or 'b' }} {{ '' and missing.x }}|{{ 'a' or missing.x }} {{ none or 0 }} {{ not [] }} {{ not {} }} {{ not 0.0 }} {{ not 'a' }}",
        "{{ 'y' if yes else 'n' }} {{ 'y' if missing else 'n' }} {{ 'y' if false }}| {{ 1 if 0 else 2 if 0 else 3 }} {{ [1 if yes else 2] }}",
        "{{ true or false and false }} {{ not true or true }} {{ 1 if true else missing.x }}",
        "{% if missing %}a{% elif 0 %}b{% elif '0' %}c{% else %}d{% endif %}", "{% if list | selectattr('a') %}always{% endif %}",
        "{% if range(0) %}a{% else %}b{% endif %}{% if d.keys() %}c{% endif %}{% if {}.keys() %}d{% endif %}",
    ],
    "filters": [
        "{{ '  a ' | trim }}|{{ 'xxaxx' | trim('x') }}|{{ none | trim }}|{{ missing | trim }}|{{ 5 | trim }}|{{ '\\u00a0\\u3000a\\u2003' | trim }}|",
        "{{ u | upper }} {{ u | lower }} {{ 'hELLO wORLD-foo (bar' | title }} {{ 'hELLO wORLD' | capitalize }} {{ 'ßa' | capitalize }} {{ 'ǆa b' | capitalize }} {{ 'straße' | upper }} {{ none | upper }} {{ 'ΑΣ' | lower }} {{ '' | capitalize }}|",
        "{{ s | length }} {{ u | length }} {{ list | length }} {{ d | count }} {{ missing | length }} {{ d.items() | length }}", "{{ 5 | length }}", "{{ none | length }}", "{{ list | map('string') | length }}",
        "{{ list | join }} {{ list | join(', ') }} {{ people | join('-', attribute='name') }} {{ s | join('.') }} {{ [1, none, 'a', missing] | join('|') }} {{ d | join(',') }} {{ missing | join('x') }}|",
        "{{ missing | default }}|{{ missing | default('x') }} {{ none | default('x') }} {{ none | default('x', true) }} {{ '' | d('y', boolean=true) }} {{ 0 | default(1) }} {{ missing | default(none) }} {{ d.q | default(missing) }}|",
        "{{ list | first }} {{ list | last }} {{ [] | first }}|{{ s | first }}{{ u | last }} {{ d | first }} {{ d | last }} {{ missing | first }}|", "{{ 5 | first }}", "{{ list | map('string') | last }}",
        "{{ s | replace('l', 'L') }} {{ s | replace('l', 'L', 2) }} {{ 'aaa' | replace('', '-') }} {{ 'aé' | replace('', '-', 2) }} {{ 101 | replace('0', 'x') }} {{ 101 | replace(0, 2) }} {{ '' | replace('', 'x') }} {{ none | replace('N', 'n') }}",
        "{{ spaces | string }}|{{ 5 | string + 'a' }} {{ none | string }} {{ [1] | string }} {{ html | safe }} {{ missing | string }}|",
        "{{ '12' | int }} {{ ' 12 ' | int }} {{ '1.9' | int }} {{ 'x' | int }} {{ 'x' | int(5) }} {{ 2.9 | int }} {{ -2.9 | int }} {{ none | int }} {{ true | int }} {{ [] | int(3) }} {{ '1_0' | int }} {{ '+3' | int }}", "{{ missing | int }}",
        "{{ '1.5' | float }} {{ 'x' | float }} {{ 2 | float }} {{ 'x' | float(1) }} {{ '1e3' | float }} {{ none | float(2.5) }}",
        "{{ -5 | abs }} {{ (-5) | abs }} {{ (-1.5) | abs }} {{ 2.5 | round }} {{ 3.5 | round }} {{ 2.675 | round(2) }} {{ 2.1 | round(0, 'ceil') }} {{ 2.19 | round(1, 'floor') }} {{ 5 | round }} {{ 2.5 | round | int }}", "{{ 'a' | abs }}",
        "{{ list | sort }} {{ list | sort(reverse=true) }} {{ words | sort }} {{ words | sort(case_sensitive=true) }} {{ people | sort(attribute='age') | map(attribute='name') | list }} {{ people | sort(true, attribute='name') | map(attribute='name') | list }} {{ 'cab' | sort }}", "{{ [1, 'a'] | sort }}",
        "{{ words | unique | list }} {{ [1, 1.0, true, 2] | unique | list }} {{ people | unique(attribute='age') | map(attribute='name') | list }} {{ words | unique(true) | list }}",
        "{{ list | reverse | list }} {{ s | reverse }} {{ d | reverse | list }} {{ list | max }} {{ words | min }} {{ people | max(attribute='age') }} {{ [] | max }}|",
        "{{ d | dictsort }} {{ {'b': 2, 'A': 3, 'c': 1} | dictsort }} {{ {'b': 2, 'A': 3} | dictsort(true) }} {{ {'b': 2, 'A': 3, 'c': 1} | dictsort(by='value') }} {{ {'b': 2, 'A': 3} | dictsort(reverse=true) }}", "{{ list | dictsort }}",
        "{{ d | items | list }} {% for k, v in d | items %}{{ k }}={{ v }};{% endfor %}{{ missing | items | list }}", "{{ list | items | list }}",
        "{{ s | list }} {{ d | list }} {{ missing | list }} {{ d.items() | list }}", "{{ 5 | list }}",
        "{{ people | map(attribute='name') | join(',') }} {{ [{'t': ['x']}] | map(attribute='t.0') | list }} {{ words | map('upper') | list }} {{ [' a ', 'b '] | map('trim') | join('|') }} {{ people | map(attribute='admin', default='no') | list }} {{ words | map('replace', 'a', 'x') | list }}", "{{ people | map('nosuch') | list }}",
        "{{ people | selectattr('admin') | map(attribute='name') | list }} {{ people | selectattr('age', 'equalto', 30) | list | length }} {{ people | rejectattr('age', '==', 30) | map(attribute='name') | first }} {{ people | selectattr('admin', 'defined') | list | length }} {{ people | selectattr('name', 'in', ['Ann', 'Cy']) | map(attribute='name') | join }} {{ people | selectattr('age', 'gt', 26) | list | length }}",
        "{{ list | select('odd') | list }} {{ list | reject('gt', 1) | list }} {{ [0, 1, '', 'a'] | select | list }} {{ list | select('divisibleby', 3) | list }}",
        "{{ lines | indent }}|{{ lines | indent(2, true) }}|{{ lines | indent(2, blank=true) }}|{{ 'a\nb' | indent('>') }}|{{ '' | indent(2, true) }}|",
        "{{ d | tojson }} {{ d | tojson(indent=2) }} {{ [] | tojson(indent=4) }} {{ {} | tojson(indent=4) }} {{ html | tojson }} {{ u | tojson }} {{ [1.0, true, none, 1e20, 'a\\n\\t\\x01\\x7f/'] | tojson }} {{ (1, 2) | tojson }} {{ d | tojson(sort_keys=true) }} {{ d | tojson(separators=(',', ':')) }} {{ {1: 2, none: 3, true: 4, 1.5: 5} | tojson }} {{ d | tojson(indent='--') }}",
        "{{ missing | tojson }}", "{{ [missing] | tojson }}", "{{ d.keys() | tojson }}", "{{ range(2) | tojson }}",
        "{% set g = words | map('upper') %}{{ g | first }}{{ g | list }}{{ g | list }}", "{% set g = list | select('odd') %}{{ 3 in g }}{{ g | list }}",
        "{{ 'a' | upper | lower ~ 'B' | lower }} {{ 1 + '2' | int }} {{ -1 | abs }} {{ not 'a' | length == 1 }}",
        "{{ s | nosuch }}", "{{ s | upper(1) }}", "{{ s | replace('a') }}", "{{ s | trim(nochars='x') }}",
    ],
    "tests": [
        "{{ missing is defined }} {{ n is defined }} {{ missing is undefined }} {{ d.q is defined }} {{ none is defined }} {{ nothing is none }} {{ n is not none }} {{ missing is none }}",
        "{% for v in [1, 1.5, true, none, 'a', [], (1,), {}, missing, range(1), {}.keys()] %}{{ v is string }},{{ v is number }},{{ v is integer }},{{ v is float }},{{ v is boolean }},{{ v is mapping }},{{ v is sequence }},{{ v is iterable }},{{ v is true }},{{ v is false }},{{ v is callable }};{% endfor %}",
        "{{ 3 is odd }} {{ 3 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }} {{ 1 is eq 1 }} {{ 1 is ne(1) }} {{ 1 is equalto 1.0 }} {{ 2 is gt 1 }} {{ 1 is lessthan 2 }} {{ 2 is ge 2 }} {{ 2 is le 1 }} {{ 'a' is in ['a'] }} {{ 1 is not in [1] }} {{ none is sameas none }} {{ true is sameas true }} {{ 1 is sameas true }} {{ 'ab' is lower }} {{ 'Ab' is upper }}",
        "{{ 'a' is string and 'b' is string }} {{ missing is defined or true }} {{ (n is number) == true }}",
        "{{ n is nosuch }}", "{{ missing is odd }}", "{{ 'a' is odd }}", "{{ raise_exception is defined }} {{ range is callable }} {{ strftime_now is defined }} {{ namespace is defined }}",
        "{% for v in [1] %}{{ loop is defined }}{% endfor %}{{ d.items is defined }} {{ d.items is callable }} {{ d.get is mapping }} {{ s.upper is callable }}",
    ],
    "methods": [
        "{{ spaces.strip() }}|{{ spaces.lstrip() }}|{{ spaces.rstrip() }}|{{ 'xyaxy'.strip('xy') }}|{{ 'xa'.lstrip('x') }}|{{ 'a\\n\\n'.rstrip('\\n') }}|{{ 'a'.strip(none) }}|",
        "{{ 'a,b,,c'.split(',') }} {{ 'a,b,c'.split(',', 1) }} {{ spaces.split() }} {{ ' a b c '.split(none, 1) }} {{ ''.split() }} {{ ''.split(',') }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b c '.rsplit(none, 1) }} {{ 'a</t>b'.split('</t>')[-1] }} {{ 'a b'.split(' ', maxsplit=1) }} {{ lines.splitlines() }} {{ 'a b c'.rsplit() }}", "{{ 'a'.split('') }}",
        "{{ s.startswith('He') }} {{ s.endswith('d') }} {{ s.startswith(('x', 'H')) }} {{ s.upper() }} {{ s.lower() }} {{ \"it's hEllo wORLD\".title() }} {{ 'aB'.capitalize() }} {{ 'aaa'.replace('a', 'b', 2) }} {{ 'aaa'.replace('a', '') }}|", "{{ s.startswith(1) }}", "{{ s.startswith(['a']) }}",
        "{{ s.find('o') }} {{ s.rfind('o') }} {{ s.find('q') }} {{ u.find('Σ') }} {{ s.find('o', 5) }} {{ s.count('l') }} {{ 'aaa'.count('aa') }} {{ 'ab'.count('') }} {{ ','.join(['a', 'b']) }} {{ ''.join([]) }}|{{ '-'.join('abc') }}", "{{ ','.join([1]) }}",
        "{{ '12'.isdigit() }} {{ 'a1'.isalnum() }} {{ 'aé'.isalpha() }} {{ ' '.isspace() }} {{ 'AB'.isupper() }} {{ 'ab1'.islower() }} {{ ''.isdigit() }} {{ '²'.isdigit() }} {{ '½'.isalnum() }}",
        "{{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('c') }} {{ 'abc'.removesuffix('x') }} {{ 'a=b=c'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'a'.partition('=') }} {{ 'a'.rpartition('=') }} {{ 'ab'.center(5) }}|{{ 'abc'.center(6) }}|{{ 'a'.ljust(3, '.') }} {{ 'a'.rjust(3) }}",
        "{{ d.get('b') }} {{ d.get('q') }} {{ d.get('q', 5) }} {{ d.keys() }} {{ d.values() }} {{ d.items() }} {{ d.keys() | list }} {% for k, v in d.items() %}{{ k }}:{{ v }} {% endfor %}", "{{ d.copy() == d }}",
        "{{ list.index(1) }} {{ list.count(3) }} {{ list.copy() }}", "{{ list.index(9) }}", "{{ list.append(1) }}", "{{ d.update({}) }}", "{{ d.pop('a') }}", "{{ list.sort() }}", "{{ d.clear() }}", "{{ list.nosuch() }}", "{{ missing.upper() }}", "{{ nothing.upper() }}", "{{ n.upper() }}", "{{ s.nosuch() }}", "{{ s() }}", "{{ nosuch() }}", "{{ d.b() }}",
    ],
    "loops": [
        "{% for v in list %}{{ loop.index }}/{{ loop.length }} {{ loop.index0 }} {{ loop.revindex }} {{ loop.revindex0 }} {{ loop.first }} {{ loop.last }} {{ loop.previtem }} {{ loop.nextitem }} {{ loop.depth }};{% endfor %}",
        "{% for v in [] %}a{% else %}none{% endfor %}{% for v in missing %}a{% else %}none{% endfor %}{% for v in list %}{% break %}{% else %}x{% endfor %}", "{% for v in none %}{% endfor %}", "{% for v in 5 %}{% endfor %}",
        "{% for v in list if v > 1 %}{{ loop.index }}{{ v }} {% else %}no{% endfor %}{% for v in list if v > 9 %}a{% else %}no{% endfor %}",
        "{% for v in list %}{% if v == 1 %}{% continue %}{% endif %}{{ v }}{% endfor %} {% for v in list %}{% if v == 1 %}{% break %}{% endif %}{{ v }}{% endfor %}",
        "{% for a, b in [(1, 2), [3, 4]] %}{{ a }}{{ b }} {% endfor %}{% for (a, b) in [(1, 2)] %}{{ a }}{% endfor %}{% for c in s %}{{ c }}.{% endfor %}{% for k in d %}{{ k }},{% endfor %}", "{% for a, b in [1] %}{% endfor %}", "{% for a, b in [(1, 2, 3)] %}{% endfor %}",
        "{% set v = 'out' %}{% for v in list %}{{ v }}{% endfor %}{{ v }}", "{% set a = 1 %}{% for v in list %}{{ a }}{% set a = v %}{{ a }} {% endfor %}{{ a }}", "{% for v in list %}{% set q = v %}{% endfor %}{{ q }}|",
        "{% for v in list %}{% for w in words %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}", "{% for v in list %}{% set outer = loop.index %}{% for w in 'ab' %}{{ outer }}{{ loop.index }} {% endfor %}{% endfor %}",
        "{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(1, 7, 2) %}{{ i }}{% endfor %}{% for i in range(3, 0, -1) %}{{ i }}{% endfor %}{{ range(4)[1] }} {{ range(5) | list }} {{ range(3) | length }}", "{{ range(1, 2, 0) }}", "{{ range('a') }}", "{{ range() }}",
        "{% for v in list[::-1] %}{{ v }}{% endfor %}{% for v in 1, 2 %}{{ v }}{% endfor %}{% for v in list | reverse %}{{ loop.last }}{% endfor %}{% for v in list if v is odd and loop is undefined %}{{ v }}{% endfor %}", "{% break %}", "{% for v in list %}{% endif %}", "{% for v in list %}",
        "{% for v in list %}{% continue %}{% else %}x{% endfor %}{% for v in list %}{% if v == 1 %}{% break %}{% endif %}{% else %}x{% endfor %}", "{% for v in list %}{% if loop.first %}{% set z = 1 %}{% endif %}{{ z }}{% endfor %}", "{% if true %}{% set z = 1 %}{% endif %}{{ z }}",
        "{{ loop }}|{{ loop.index }}",
    ],
    "variables": [
        "{% set a = 1 %}{{ a }}{% set a = a + 1 %}{{ a }} {% set b, c = 1, 2 %}{{ b }}{{ c }} {% set (e, f) = [3, 4] %}{{ e }}{{ f }} {% set t = 1, 2 %}{{ t }}", "{% set a, b = [1] %}", "{% set a.b = 1 %}", "{% set d.b = 1 %}",
        "{% set ns = namespace(a=1, b='x') %}{% for v in list %}{% set ns.a = ns.a + v %}{% endfor %}{{ ns.a }}{{ ns.b }}{{ ns.missing }}|{% set ns.c = [ns.a] %}{{ ns.c }} {{ ns['a'] }}", "{% set ns = namespace({'q': 1}, r=2) %}{{ ns.q }}{{ ns.r }}", "{% set ns = namespace() %}{{ ns.a.b }}",
        "{% set x %}a{{ n }}{% endset %}{{ x }} {{ x | length }} {% set y | upper | replace('B', 'c') %}ab{% endset %}{{ y }} {% set z %}{% set inner = 1 %}{% endset %}{{ inner }}|", "{% with a = 1, b = n %}{{ a }}{{ b }}{% set q = 5 %}{% endwith %}{{ a }}{{ q }}|", "{% filter upper %}a{{ s }}{% endfilter %} {% filter replace('a', 'b') | upper %}aa{% endfilter %}",
        "{{ dict(a=1, b=2) }} {{ dict({'x': 1}, y=2) }}", "{% set a = missing %}{{ a is defined }} {% set a = none %}{{ a is none }}", "{% set true = 1 %}", "{% set messages = [1] + list %}{{ messages }}",
    ],
    "macros": [
        "{% macro m(a, b=2, c=b) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(1, c=5) }} {{ m(b=1, a=0) }} {{ m() }} {{ m(1) | length }} {{ m(1) ~ 'x' }}", "{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}", "{% macro m(a) %}{% endmacro %}{{ m(q=2) }}", "{% macro m(a) %}{{ a.b }}{% endmacro %}{{ m() }}",
        "{{ m(1) }}{% macro m(a) %}{{ a }}{% endmacro %}", "{% set q = 1 %}{% macro m() %}{{ q }}{{ n }}{% endmacro %}{% set q = 2 %}{{ m() }}", "{% macro m() %}{{ q }}|{% endmacro %}{% for q in list %}{{ m() }}{% endfor %}", "{% macro m() %}{% set q = 1 %}{% endmacro %}{{ m() }}{{ q }}|", "{% macro f(k) %}{% if k > 0 %}{{ k }}{{ f(k - 1) }}{% endif %}{% endmacro %}{{ f(4) }}",
        "{% macro m(t) %}<{{ caller() }}{{ t }}>{% endmacro %}{% call m('x') %}in{{ n }}{% endcall %}", "{% macro m() %}{% for i in list %}{{ caller(i, 'z') }}{% endfor %}{% endmacro %}{% call(a, b='y') m() %}{{ a }}{{ b }}{% endcall %}", "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}", "{% macro m() %}{{ loop.index }}{% endmacro %}{% for v in list %}{{ m() }}{% endfor %}",
        "{% macro m(a) -%}\n  {{ a }}\n{%- endmacro %}{{ m('x') }}{{ m is callable }}{{ m is defined }}", "{% set f = range %}{{ f(2) | list }}", "{{ n() }}", "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}",
    ],
    "white space": [
        "a\n  {% if true %}\n  b\n  {% endif %}\n  c\n", "a  {%- if true -%}  b  {%- endif -%}  c", "a\n{{ n }}\nb\n", "  {{ n -}}  \n  x", "x  \n {{- n }} y", "{# c #}\n a {# c #} b\n  {#- c -#}  d\n   {# e #}\n f", "a\n   {%+ if true %}b{% endif +%}\nc", "{% if true %}\n\na{% endif %}\n\n", "a {% if true %} b {% endif %} c", "\n\na", "a\r\nb\rc\n\n", "{{ '\r\n' | length }}", "  {% set a = 1 %}  \n  b {{ a }}  {% set b = 1 %}  \n c", "a\n\t {% raw %} {{ x }} {% y %} {# z #} {% endraw %}\nb", "{% raw -%}  a  {%- endraw %}  b", "{{ {'a': {'b': 1}} }}{{ {'a': {}}}}", "a{# {{ x }} {% y %} #}b", "{%if n%}a{%endif%}", "{{n}}{{ '}}' }}{{ '%}' }}", "{% if true -%}\n\n  a\n{%- endif %}\nb", "a\u00a0{%- if true %}b{% endif %}", "{ % {{ '{%' }} } #", "  {%- for x in 'ab' %}\n    {{ x }}\n  {%- endfor %}\n", "a {#- x -#} b", "a\n  {# x #}  b\n", "a {{- ' b ' -}} c", "{{ 'a' }}\n\n{% if true %}x{% endif %}", "{{ 'a' -}}\n  {% if true %}x{% endif %}",
    ],
    "functions": [
        "{{ raise_exception('no ' ~ n) }}", "{% if false %}{{ raise_exception('x') }}{% endif %}ok", "{{ strftime_now('%Y-%m-%d %H:%M:%S %B %b %A %a %j %y %I %p %%') }}", "{{ strftime_now('%d %b %Y') }} {{ strftime_now('%-d/%-m') }}", "{% generation %}a{% set q = 1 %}{{ n }}{% endgeneration %}{{ q }}|",
    ],
    "syntax errors": [
        "{{ }}", "{{ 1 + }}", "{{ (1 }}", "{{ 'a }}", "{% if %}{% endif %}", "{% if true %}", "{% endif %}", "{% nosuch %}", "{{ a b }}", "{{ 1", "{# a", "{% set %}", "{% set a = %}", "{{ a. }}", "{{ a[ }}", "{{ [1, }}", "{{ {'a'} }}", "{{ ) }}", "{{ a | }}", "{{ a is }}", "{% for in x %}{% endfor %}", "{% for a of x %}{% endfor %}", "{% macro %}{% endmacro %}", "{{ $ }}", "{{ f(a=1, 2) }}", "{% raw %}a", "{% else %}", "{{ a ? b : c }}", "{{ 1 if }}", "{{ !a }}", "{{ a && b }}",
        "{{ ''.__class__.__mro__ }}", "{{ nothing.__class__.x }}",
    ],
}

TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "The weather <now> & here, in \"°C\"", "parameters": {
        "type": "object", "properties": {"city": {"type": "string", "description": "Ort"}, "unit": {
            "type": "string", "enum": ["C", "F"]}}, "required": ["city"]}}}]
USER, ANSWER = {"role": "user", "content": " Wie geht's? "}, {"role": "assistant", "content": "Gut.\n"}
SYSTEM = {"role": "system", "content": "Be brief."}
CALL = {"role": "assistant", "content": "", "tool_calls": [
    {"id": "abc123def", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Köln", "n": [1, 2.0, None]}}}]}
RESULT = {"role": "tool", "name": "get_weather", "tool_call_id": "abc123def", "content": "{\"t\": 21}"}
THOUGHT = {"role": "assistant", "content": "<think>\nHm.\n</think>\n\nGood."}
PARTS = {"role": "user", "content": [{"type": "text", "text": "Look: "}, {"type": "image"}, {"type": "text", "text": "nice"}]}
CONVERSATIONS = {
    "one question": [USER],
    "an exchange": [USER, ANSWER, USER],
    "with a system message": [SYSTEM, USER, ANSWER],
    "with a call of a tool": [SYSTEM, USER, CALL, RESULT, RESULT, ANSWER, USER],
    "with a thought": [USER, THOUGHT, USER, THOUGHT],
    "in the wrong order": [USER, USER],
    "beginning with an answer": [ANSWER, USER],
    "of parts": [PARTS, ANSWER],
    "of an unknown role": [USER, {"role": "critic", "content": "Hm."}],
}


def conversations():
    for name, messages in CONVERSATIONS.items():
        for tools in (None, TOOLS):
            for prompt in (False, True):
                yield name, {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": prompt,
                             "bos_token": "<s>", "eos_token": "</s>"}
    yield "an exchange without thinking", {
        "messages": [USER, THOUGHT, USER], "tools": None, "documents": None, "add_generation_prompt": True,
        "bos_token": "<s>", "eos_token": "</s>", "enable_thinking": False}


def golden():
    cases = [{"group": group, "template": template, **outcome(template, VALUES)}
             for group, templates in CASES.items() for template in templates]
    given = [{"name": name, "values": values} for name, values in conversations()]
    families = {}
    for path in sorted((HERE / "templates").glob("*.jinja")):
        template = path.read_text(encoding="utf-8")
        families[path.stem] = [outcome(template, one["values"]) for one in given]
    return {"values": VALUES, "cases": cases, "conversations": given, "families": families}


if __name__ == "__main__":
    made = golden()
    target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "golden.json"
    target.write_text(json.dumps(made, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    failing = sum("error" in one for one in made["cases"])
    print(f"{target}: {len(made['cases'])} cases, {failing} of them errors; "
          f"{len(made['families'])} templates with {len(made['conversations'])} conversations each")
