import process from 'node:process';
import { query } from '@anthropic-ai/claude-agent-sdk';
import { fromClaudeAgent } from 'nest-agent-query-claude-agent';

const { directory, env } = JSON.parse(process.env.REAL_AGENT);

export default fromClaudeAgent({ query, directory, env, options: { model: 'scripted' } });
