import type { Wrong } from '../defective-service.js';

/** A deliberate defect of a service: the promise that it breaks, and what the service does. */
export type Defect = [breaks: string, title: string, wrong: Wrong];
