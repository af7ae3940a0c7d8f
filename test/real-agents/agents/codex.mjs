/** Everything is said on the command line, so that each owner has a home folder of their own. */
export const program = (url, installed) => ({
  command: [
    installed('@zed-industries/codex-acp-linux-x64/bin/codex-acp'),
    ...Object.entries({
      model: '"scripted"',
      model_provider: '"scripted"',
      'model_providers.scripted.name': '"scripted"',
      'model_providers.scripted.base_url': `"${url}/v1"`,
      'model_providers.scripted.env_key': '"SCRIPTED_KEY"',
      'model_providers.scripted.wire_api': '"responses"',
      'model_providers.scripted.request_max_retries': '1',
      'model_providers.scripted.stream_max_retries': '1',
      approval_policy: '"untrusted"',
      sandbox_mode: '"danger-full-access"',
      check_for_update_on_startup: 'false',
      'analytics.enabled': 'false',
    }).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ],
  env: { SCRIPTED_KEY: 'none' },
});
