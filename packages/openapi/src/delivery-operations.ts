import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiParam } from '@nestjs/swagger';
import { ALWAYS, RUN_ID } from './parameters.js';
import { jsonResponse, problemResponses } from './responses.js';
import { count, model, orNull, text, time } from './schemas.js';

const QueryDelivery = model('QueryDelivery', {
  id: text('The header `webhook-id`.'),
  endpoint: text('The name of the endpoint.'),
  event: {
    type: 'string',
    enum: ['run.completed', 'run.failed', 'run.cancelled', 'run.input_required'],
    description: 'What has happened to the run.',
  },
  status: {
    type: 'string',
    enum: ['waiting', 'delivered', 'failed'],
    description: '`waiting`: it is still tried. `failed`: it is not, unless it is sent again.',
  },
  tries: count('How often it was tried since it was made, or was sent again.'),
  createdAt: time('When the event happened.'),
  triedAt: orNull(time('When it was tried last.')),
  dueAt: orNull(time('When it is tried next.')),
  error: orNull(text('Why the last try has failed.')),
});

const QueryRunDeliveries = model('QueryRunDeliveries', {
  deliveries: { type: [QueryDelivery], description: 'In the order of the events.' },
});

/** How the routes for webhooks are described, by the names of their methods. */
export const DELIVERY_OPERATIONS: Readonly<Record<string, () => MethodDecorator>> = {
  deliveries: () =>
    applyDecorators(
      ApiOperation({ summary: 'List the webhooks of a run' }),
      RUN_ID,
      jsonResponse(200, 'The webhooks of the run.', QueryRunDeliveries),
      problemResponses([...ALWAYS, 'not_found']),
    ),
  sendAgain: () =>
    applyDecorators(
      ApiOperation({ summary: 'Send a webhook of a run again' }),
      RUN_ID,
      ApiParam({ name: 'id', schema: { type: 'string' }, description: 'The id of the delivery.' }),
      jsonResponse(202, 'It is going to be sent.', QueryDelivery),
      problemResponses([...ALWAYS, 'not_found']),
    ),
};
