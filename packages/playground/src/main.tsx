import { render } from 'preact';
import { App } from './app.js';
import { ApiKey } from './state/api-key.js';
import { endpointsOf } from './state/endpoints.js';
import { Page } from './state/page.js';

const page = new Page(endpointsOf(document), new ApiKey());
render(<App page={page} />, document.getElementById('app')!);
