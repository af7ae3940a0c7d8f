/** For each language: its name, its name for highlighters of fenced blocks, and its file extensions. */
const LANGUAGES = `
Bash|bash: sh bash
Batch|bat: bat cmd
C|c: c h
C#|csharp: cs
C++|cpp: cc cpp cxx hh hpp hxx
Clojure|clojure: clj cljs edn
CSS|css: css
Dart|dart: dart
Diff|diff: diff patch
Elixir|elixir: ex exs
Erlang|erlang: erl hrl
F#|fsharp: fs fsx
Fortran|fortran: f90 f95 f03 for
Go|go: go
GraphQL|graphql: graphql gql
Groovy|groovy: groovy gradle
Haskell|haskell: hs
HCL|hcl: hcl tf
HTML|html: html htm xhtml
INI|ini: ini cfg conf properties
Java|java: java
JavaScript|javascript: js mjs cjs
JSON|json: json geojson ndjson jsonl webmanifest
JSX|jsx: jsx
Julia|julia: jl
Kotlin|kotlin: kt kts
LaTeX|latex: tex sty cls
Less|less: less
Log|text: log
Lua|lua: lua
Makefile|makefile: mk
Markdown|markdown: md markdown mdx
Nix|nix: nix
Objective-C|objectivec: m mm
OCaml|ocaml: ml mli
Pascal|pascal: pas dpr
Perl|perl: pl pm
PHP|php: php
PowerShell|powershell: ps1 psm1
Protocol Buffers|protobuf: proto
Python|python: py pyw pyi
R|r: r rmd
reStructuredText|rst: rst
Ruby|ruby: rb
Rust|rust: rs
Scala|scala: scala
Scheme|scheme: scm ss
SCSS|scss: scss sass
SQL|sql: sql
Svelte|svelte: svelte
Swift|swift: swift
TOML|toml: toml
TSX|tsx: tsx
TypeScript|typescript: ts mts cts
Vue|vue: vue
XML|xml: xml xsd xsl xslt rss atom plist
YAML|yaml: yaml yml
Zig|zig: zig
`;

interface Language {
  name: string;
  fence: string;
}

const byExtension = new Map<string, Language>(
  LANGUAGES.trim()
    .split('\n')
    .flatMap((line) => {
      const [name = '', fence = '', extensions = ''] = line.split(/\||: /);
      return extensions.split(' ').map((extension): [string, Language] => [extension, { name, fence }]);
    }),
);

const byName = new Map<string, Language>([
  ['dockerfile', { name: 'Dockerfile', fence: 'dockerfile' }],
  ['makefile', { name: 'Makefile', fence: 'makefile' }],
]);

/** The language that a file's name indicates, or undefined. */
export function languageOf(name: string): Language | undefined {
  return byName.get(name.toLowerCase()) ?? byExtension.get(extensionOf(name));
}

/** The extension of a file's name in lower case, without the dot; empty if it has none. */
export function extensionOf(name: string): string {
  return /\.([^.]{1,20})$/.exec(name)?.[1]?.toLowerCase() ?? '';
}
