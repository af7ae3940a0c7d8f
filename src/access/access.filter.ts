import { Catch } from '@nestjs/common';
import { ProblemFilter } from '../query/index.js';
import { AccessRefusal } from './refusals.js';

/** Answers the refusals of the guards as problems on every route of the host. Other errors stay with the host. */
@Catch(AccessRefusal)
export class AccessFilter extends ProblemFilter {}
