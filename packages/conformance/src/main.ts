#!/usr/bin/env node
import { commandLine } from './command-line.js';

await commandLine().parseAsync();
