#!/usr/bin/env node
import { Command } from 'commander';
import { doctorCommand } from './doctor/index.js';
import { keysCommand } from './keys.js';

/** The command line of the package. A command is a file of this folder, which is added here. */
const program = new Command('nest-agent-query')
  .description('Tools for the service nest-agent-query.')
  .addCommand(keysCommand())
  .addCommand(doctorCommand());

const given = process.argv.slice(2);
await program.parseAsync(given.length > 0 ? given : ['--help'], { from: 'user' });
