import { existsSync } from 'node:fs';
import eslint from '@eslint/js';
import globals from 'globals';
import tseslint from 'typescript-eslint';

/** Folders whose packages `npm ci` does not install; their programs do, and then they are checked too. */
const unresolved = [
  ...(existsSync('packages/node_modules')
    ? []
    : [
        'packages/*.ts',
        'packages/ai-sdk/test/',
        'packages/langgraph/',
        'packages/mastra/',
        'packages/mcp/test/',
        'packages/openai-agents/',
        'packages/protocols/test/',
      ]),
  ...(existsSync('test/browser/node_modules') ? [] : ['test/browser/', 'test/clients/front-ends/']),
];

export default tseslint.config(
  { ignores: ['**/dist/', 'coverage/', 'test/fixtures/', ...unresolved] },
  eslint.configs.recommended,
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'off',
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', ignoreRestSiblings: true }],
      '@typescript-eslint/require-await': 'off',
      'no-restricted-syntax': [
        'error',
        {
          selector:
            ':matches(PropertyDefinition, MethodDefinition[kind!="constructor"])[accessibility="private"]',
          message: 'Write #name: private is for constructors and their parameters.',
        },
      ],
      // What a handler threw is passed on as it is, Error or not.
      '@typescript-eslint/prefer-promise-reject-errors': ['error', { allowThrowingUnknown: true }],
    },
  },
  {
    files: ['**/*.spec.ts', 'test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
    },
  },
  {
    files: ['test/promises.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'Property[key.name="sentence"] > Literal:not([value=/^(?:[A-Z]|[a-z]\\w+[. ]).*\\.$/])',
          message: 'A promise is a sentence, with a full stop.',
        },
      ],
    },
  },
  {
    // They import the package by its name, whose types exist only after a build: test/examples.spec.ts,
    // packages/create/src/create.spec.ts and `npm run hosts` check them.
    files: [
      'examples/**/*.ts',
      'examples/**/*.tsx',
      'packages/create/{template,template-acp}/**/*.ts',
      'test/matrix/application/**/*.ts',
    ],
    extends: [tseslint.configs.disableTypeChecked],
  },
  {
    files: ['**/*.js', '**/*.mjs'],
    languageOptions: { globals: globals.node },
  },
);
