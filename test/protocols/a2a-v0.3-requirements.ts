import type { Requirement } from './a2a-requirements.js';

const of =
  (level: Requirement['level']) =>
  (sentence: string, unless?: string): Requirement => ({
    level,
    sentence,
    ...(unless && { unless }),
  });

/** The kit calls these mandatory. */
const must = of('MUST');
/** The kit requires these of a card that promises the capability. */
const should = of('SHOULD');

const NO_PUSH =
  'The card promises no push notifications: test_push_notification_not_supported_error_32003 is tested.';
const NO_EXTENDED_CARD =
  'The card promises no extended card: test_authenticated_extended_card_method_exists is tested.';
const OTHER_TRANSPORTS = 'The card names JSON-RPC only.';
const NOTHING_MORE = 'It asks nothing that the others do not.';
const OF_AGENTS = 'It needs an agent that answers wrongly.';

/**
 * The tests of the test kit of A2A 0.3 (`a2aproject/a2a-tck`, branch `0.3.x`), by their names: `mandatory/jsonrpc`,
 * `mandatory/protocol`, `mandatory/quality`, and of `optional/capabilities` those of messages, streams, push and the card.
 */
export const REQUIREMENTS_V0_3: Record<string, Requirement> = {
  test_rejects_malformed_json: must('A body that is no JSON is -32700.'),
  test_raw_invalid_json: must('The same, of a body that is cut.'),
  test_rejects_invalid_json_rpc_requests: must(
    'A call of a wrong form is -32600, -32601 or -32602, with 200.',
  ),
  test_rejects_unknown_method: must('A method that does not exist is -32601.'),
  test_rejects_invalid_params: must('Parameters of a wrong form are -32602.'),
  test_duplicate_request_ids: must('Two calls with one id are each answered with it.'),
  test_invalid_jsonrpc_version: must('Another version of JSON-RPC is -32600.'),
  test_missing_method_field: must('A call without a method is -32600.'),
  test_push_notification_not_supported_error_32003: must('Push notifications are -32003.'),
  test_push_notification_not_supported_error_32003_enhanced: must(
    'The sentence says that they are not supported.',
  ),
  test_unsupported_operation_error_32004: must('An operation that the task does not take is -32004.'),
  test_unsupported_operation_error_32004_enhanced: must('The same in more ways.', NOTHING_MORE),
  test_content_type_not_supported_error_32005: must(
    'A part of a type that the agent does not take is -32005.',
  ),
  test_content_type_not_supported_error_32005_enhanced: must('The same in more ways.', NOTHING_MORE),
  test_invalid_agent_response_error_32006: must('An answer of a wrong form is -32006.', OF_AGENTS),
  test_invalid_agent_response_error_32006_enhanced: must('The same in more ways.', OF_AGENTS),
  test_a2a_error_code_coverage_summary: must('Each code is tried.', NOTHING_MORE),
  test_a2a_error_code_coverage_enhanced: must('Each code is tried.', NOTHING_MORE),

  test_agent_card_available: must('There is a card.'),
  test_mandatory_fields_present: must('The card has the members that it must have.'),
  test_mandatory_field_types: must('They have their types.'),
  test_agent_card_mandatory_fields: must('The card has a protocol version and a URL.'),
  test_agent_card_capabilities_mandatory: must('The card has capabilities.'),
  test_agent_card_skills_mandatory: must('The card has a skill, with an id, a name, a description and tags.'),
  test_agent_card_input_output_modes_mandatory: must('The card has media types.'),
  test_agent_card_basic_info_mandatory: must('The card has a name, a description and a version.'),
  test_message_send_valid_text: must('A text is answered with a task or a message.'),
  test_message_send_invalid_params: must('A message without what it must have is -32602.'),
  test_message_send_continue_task: must(
    'A message with the id of a task that waits for one goes on with it.',
  ),
  test_task_history_length: must('A history is no longer than the client wants.'),
  test_tasks_get_valid: must('A task is got.'),
  test_tasks_get_with_history_length: must('A task is got with as much history as the client wants.'),
  test_tasks_get_nonexistent: must('A task that does not exist is -32001.'),
  test_tasks_cancel_valid: must('A task is cancelled, and returned.'),
  test_tasks_cancel_nonexistent: must('A task that does not exist cannot be cancelled: -32001.'),
  test_core_method_mapping_compliance: must('The task of a message is got and cancelled.'),
  test_transport_specific_method_naming: must('Methods of JSON-RPC are named like message/send.'),
  test_jsonrpc_specific_features: must('A response of JSON-RPC has its version and the id of the call.'),
  test_required_method_availability: must('The methods that an agent must have exist.'),
  test_grpc_specific_features: must('gRPC has its own names.', OTHER_TRANSPORTS),
  test_rest_specific_features: must('REST has its own paths.', OTHER_TRANSPORTS),
  test_transport_specific_features: must('Each transport has its features.', NOTHING_MORE),
  test_transport_compliance_validation: must('Each transport of the card is offered.'),
  test_multi_transport_method_mapping: must('Transports have the same methods.', OTHER_TRANSPORTS),
  test_comprehensive_a2a_v030_compliance: must('All of these together.', NOTHING_MORE),
  test_tasks_list_with_existing_tasks: must(
    'Tasks are listed.',
    'JSON-RPC of 0.3 has no list of tasks (0.3 §7.2).',
  ),
  test_authenticated_extended_card_method_exists: must('The method for the extended card exists.'),
  test_authenticated_extended_card_without_auth: must('It needs credentials.', NO_EXTENDED_CARD),
  test_authenticated_extended_card_with_auth: must('Credentials get it.', NO_EXTENDED_CARD),
  test_extended_agent_card_endpoint_exists: must('The extended card has an endpoint.', NO_EXTENDED_CARD),
  test_extended_agent_card_authentication_required: must('It needs credentials.', NO_EXTENDED_CARD),
  test_extended_agent_card_invalid_authentication: must('It refuses wrong ones.', NO_EXTENDED_CARD),
  test_extended_agent_card_response_format: must('It is a card.', NO_EXTENDED_CARD),

  test_invalid_method_error_validation: must(
    'A method that does not exist is -32601.',
    'The kit sends an object as the name, which is -32600; test_rejects_unknown_method is tested.',
  ),
  test_invalid_params_error_validation: must('Wrong parameters have a code and a sentence.'),
  test_nonexistent_resource_error_validation: must('A task that does not exist has a code and a sentence.'),
  test_error_consistency_across_methods: must('Methods have the same errors.'),
  test_error_response_completeness: must('An error has the version, the id, a code and a sentence.'),

  test_message_send_valid_file_part: should('A message has a file.'),
  test_message_send_valid_multiple_parts: should('A message has several parts.'),
  test_message_send_continue_with_contextid: should('A message names the context of its task.'),
  test_message_send_valid_data_part: should('A message has data.'),
  test_message_send_data_part_array: should('Data has an array.'),
  test_message_stream_basic: should('A message opens a stream.'),
  test_message_stream_invalid_params: should('A stream of a wrong message is an error.'),
  test_tasks_resubscribe: should('A stream is followed again.'),
  test_tasks_resubscribe_nonexistent: should('A task that does not exist has no stream.'),
  test_sse_header_compliance: should('A stream has the media type of Server-Sent Events.'),
  test_sse_event_format_compliance: should('Each event is a response of JSON-RPC.'),
  test_streaming_connection_resilience: should('A task goes on when its stream is cut.'),
  test_set_push_notification_config: should('A configuration is set.', NO_PUSH),
  test_get_push_notification_config: should('A configuration is got.', NO_PUSH),
  test_set_push_notification_config_nonexistent: should('A task must exist.', NO_PUSH),
  test_get_push_notification_config_nonexistent: should('A configuration must exist.', NO_PUSH),
  test_list_push_notification_config: should('Configurations are listed.', NO_PUSH),
  test_list_push_notification_config_empty: should('A list may be empty.', NO_PUSH),
  test_delete_push_notification_config: should('A configuration is deleted.', NO_PUSH),
  test_delete_push_notification_config_nonexistent: should('A configuration must exist.', NO_PUSH),
  test_capabilities_structure: should('Capabilities are true or false.'),
  test_agent_extensions_structure: should('An extension has a URI.'),
  test_authentication_structure: should('Security schemes have a type.'),
  test_agent_interfaces_structure: should('An interface has a URL and a transport.'),
};
