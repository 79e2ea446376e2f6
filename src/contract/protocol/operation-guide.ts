/**
 * The description of each operation, by its name: its rules, and the errors that its schemas do not
 * show. The route itself has the permission and the version. A new route needs a text here
 * (test/http/openapi.test.ts).
 */
export const OPERATION_GUIDE: Readonly<Record<string, string | undefined>> = {
  send_message:
    'Delivers a message at once, queues it with `scheduled_at`, or proposes it as a customer-reply draft with `mode` `draft`. Sending again with the same `client_message_id` returns the first message. An archived conversation answers `resource_conflict`; viewers and former members get `insufficient_permissions` or `resource_not_found`.',
  list_messages:
    'Lists the timeline, newest first; with `after_sequence` oldest first, which is how a client catches up. With another `status` it lists drafts or scheduled messages, which are not in the timeline. Authors see their own scheduled, canceled and failed messages; the team of a case and callers that see the whole account see all of them. `before_sequence` and `after_sequence` cannot be used together, and are for sent messages alone.',
  get_message:
    'Returns one message, whatever its status. Until it is sent, a scheduled message is there for its author, the team of a case, and callers that see the whole account only. A deleted message is returned as its tombstone.',
  update_message:
    'Edits a sent or scheduled message, as its author, or a draft, as an actor that may send here. What is absent stays; only a scheduled message takes `scheduled_at`. `mentions` and `attachments` replace the list: a participant that is mentioned for the first time is notified, and an attachment that is not named by its `id` is removed, which a legal hold prevents. A deleted message answers `resource_gone`, one that has ended without being sent `resource_conflict`.',
  delete_message:
    'Deletes a sent message, as its author or as an owner or admin of the conversation or the account. Its tombstone keeps its `sequence` in the timeline, without body and attachments, and the links to its files stop working. Deleting it again answers `resource_gone`. Under legal hold, and for a message that was never sent, the answer is `resource_conflict`: drafts are rejected and scheduled messages canceled instead.',
  redact_message:
    'Removes the content of a sent message for good: text, attachments and their files, revisions, previews in notifications, and what runs of agents have repeated of it. Its tombstone keeps its `sequence` and says by whom and why; customers see only that it was redacted. The same request of the same caller answers the tombstone again; otherwise a message that was deleted or redacted answers `resource_gone`. Under legal hold, and for a message that was never sent, the answer is `resource_conflict`.',
  get_message_outcome:
    'Says what became of a draft or a scheduled message: sent, canceled, failed, rejected or superseded, when, and why.',
  list_message_revisions:
    'Lists what a message said before each edit that was made while its conversation was under legal hold, for people that may set the hold. An edit without a hold keeps nothing, and deleting the message after the release removes its revisions.',
  list_reactions:
    'Lists the reactions to a message with their actors, oldest first; `emoji` selects one. Customers are shown the reactions of customers alone: those of the team are counted in the message and not named.',
  add_reaction:
    'Reacts to a sent message with one emoji, percent-encoded in the path, and returns all reactions of the message. The same actor and emoji count once: doing it again changes nothing. Emojis that differ only in the variation selector are one; skin tones are emojis of their own. What is not exactly one emoji answers `parameter_invalid`, and the 21st emoji of a message `limit_exceeded`. Viewers of the conversation cannot react.',
  remove_reaction:
    "Takes a reaction of the caller's own back, and returns the remaining ones. Where there is none, nothing changes.",
  forward_message:
    'Sends the content of a sent message that the caller can read to another conversation, as a new message of the caller: text, resource link and attachments. Files are not copied; each message keeps them while the other one is deleted. The new message follows the rules of Send Message, and is for the team unless `audience` is `customer`. It does not say where it comes from. A deleted message answers `resource_gone`, one that was not sent or is still being written `resource_conflict`.',
  list_pins:
    'Lists the pinned messages of a conversation, for the team, the last pinned first. `include[]` names sub-objects of the messages.',
  pin_message:
    'Pins a sent message in its conversation, as an actor that may send there. A message that is pinned stays as it is. A conversation can have 100 pins; beyond them the answer is `limit_exceeded`. A deleted message loses its pin.',
  unpin_message:
    'Unpins a message, as an actor that may send in its conversation. One that is not pinned stays as it is.',
  list_replies: 'Lists the direct replies to a message, newest first. Deleted ones are left out.',
  mark_thread_read:
    "Moves the caller's position in the replies to a message forward, never back, and returns the thread. The position in the conversation stays: a reply is unread while it is behind both. A caller that is not a participant gets `resource_conflict`.",
  reject_reply_draft:
    'Discards an open customer-reply draft without sending it; its status becomes `rejected`. A message that is not an open draft answers `resource_conflict`.',
  approve_reply_draft:
    'Sends an open customer-reply draft to the customer. `if_version` and `if_last_sequence` make the approval conditional on what the approver has read: anything newer answers `resource_conflict`, as does a draft that was decided already.',
  send_scheduled_message_now:
    'Sends a scheduled message at once, ahead of others of its conversation that are due. `scheduled_at` keeps the time that was asked for; `sent_at` shows when it was sent. A message that was sent, was canceled or has failed answers `resource_conflict`, and so does one that would be refused when it is due, such as that of a deactivated author.',
  cancel_scheduled_message:
    'Takes a scheduled message back before it is due; its status becomes `canceled`. One that is canceled stays so. A message that was sent or has failed answers `resource_conflict`.',
  get_me:
    'Returns the actor, the account, the role and the permissions of the caller; for a user of the account, the user too. A client reads here what to show and what to offer.',
  update_me:
    "Changes the caller's own name or image. What is absent stays. Only users of the account have one: a key gets `insufficient_permissions`. The email address cannot be changed.",
  list_people:
    'Lists the active users and agents of the account whom the caller may write to, mention or add, by name: all except the caller and the customers. It needs no `users:read` and shows nothing else of them.',
  list_presence:
    'Returns for each user whether it is online, as the sockets of all nodes say, in the order of the request. Ids that name no user of the account are left out.',
  list_own_sessions:
    'Lists where the caller is signed in: each is a family of refresh tokens that has not ended. Only users have sessions.',
  end_own_session:
    "Ends one of the caller's own sessions: its refresh token, its access tokens, and within a second the sockets that they opened. The session of this request may be ended too.",
  end_other_own_sessions:
    "Ends all of the caller's own sessions but the one of this request, and says how many they were.",
  get_own_session: "Returns one of the caller's own sessions that has not ended.",
  get_user_session: 'Returns one session of a user that has not ended.',
  list_user_sessions: 'Lists where a user is signed in.',
  end_user_session:
    'Ends one session of a user whose role grants no more than the caller has: its refresh token, its access tokens, and within a second the sockets that they opened.',
  end_user_sessions:
    'Ends all sessions of a user whose role grants no more than the caller has, and says how many they were.',
  get_user: 'Returns one user.',
  update_user:
    'Renames a user or gives the user another role. What is absent stays. A new role holds at once, for open sockets within a second. The caller needs every permission of the role before and of the role after. The last active admin keeps its role: another one answers `resource_conflict`.',
  get_role: 'Returns one role.',
  update_role:
    'Renames a role or replaces what it permits, for every user, key and agent that has it, for open sockets within a second. What is absent stays. The caller needs every permission that the role grants before and after. Roles of the service answer `resource_conflict`.',
  delete_role:
    'Deletes a role. While a user, an active key or an agent has it, the answer is `resource_conflict`, and so it is for roles of the service.',
  get_group: 'Returns one group.',
  update_group:
    'Renames a group or replaces its members. What is absent stays. Conversations that were started from it keep their members. The persona Customer Service keeps its name.',
  delete_group:
    'Deletes a group. While a conversation is assigned to it, or an inbox names it, the answer is `resource_conflict`, and so it is for the persona Customer Service. Conversations that were started from it stay.',
  get_entity: 'Returns one entity.',
  search:
    'Finds messages by their words, or with `type=conversations` conversations by title, names and addresses of their members. Case, accents and forms of letters do not count; every word must be there; the last one may be the beginning of a word, unless a blank follows it; words in quotation marks must stand side by side; languages without blanks are found by any part. Only what the caller may read is found, in its present state. The newest come first, among those of about the same age the best matches. Pages lead forward only. A search that looks at too much answers `timeout`: narrow it.',
  create_conversation:
    'Starts a direct message, a group or a customer case. A user who creates it becomes its owner. A group that an API key begins is owned by the first user without a stated role. A second direct message of the same two users returns the first one with 200, active again if it was archived.',
  list_conversations:
    "Lists the conversations that the caller may read. `status` filters by the caller's own view; without it, hidden conversations are left out. `assignee_id` takes an actor id, `me` or `none`. With `order` `activity` the conversation in which something was sent last comes first, and those that the caller has snoozed are left out unless `filter` is `snoozed` or the request searches. `as_of` is when the walk began: what moves up behind it is left out of its later pages, so no conversation comes twice, and `inbox.updated` says that something moved. `topic_type` and `topic_id` go together. Admins and API keys see other people's direct messages only with `direct` `all`, which is audited; other callers get `insufficient_permissions`. For customers, filters by the team's workflow and by other people match nothing.",
  get_conversation: 'Returns one conversation with the view and the unread count of the caller.',
  update_conversation:
    'Renames, assigns, moves, anchors or archives a conversation. What is absent stays. Lanes are for customer cases alone, and a lane that the case cannot be moved to answers `resource_conflict`.',
  delete_conversation:
    'Deletes a group or a case, as an owner of the conversation or an admin of the account, or a direct message, as an admin of the account. It leaves every list, and every other request about it and its messages answers `resource_gone`. Its open runs, drafts and scheduled messages end. It can be restored for 30 days, unless the operator has set another time, and is purged then with everything in it. Under legal hold the answer is `resource_conflict`. Deleting it again changes nothing.',
  restore_conversation:
    'Brings a deleted conversation back as it was, with its messages and files, for those that may delete it. Drafts, scheduled messages and notifications that ended with the deletion stay ended. Where the two users of a direct message have begun another one meanwhile, the answer is `resource_conflict`. A conversation that is not deleted stays as it is.',
  get_conversation_email:
    'Says how mail of a case travels: its inbox, the subject and the recipients of the next reply, and the last mail in each direction with what became of it. A conversation that is not bridged has a null `inbox`.',
  get_message_email:
    'Returns the mail that carries a message: what became of it at each recipient, or, of mail that came in, the whole text, the HTML and whether the sender is proven. A message that has none answers `resource_not_found`.',
  resend_message_email:
    'Sends a mail that came back, failed or was canceled again, with the text of the message as it is now and under the same `Message-ID`, to those recipients that do not have it. Where none has it, the recipients are decided again. A mail in another state, and a message without a mail, answer `resource_conflict`.',
  list_conversation_audit:
    'Lists what was done to the conversation and by which actor: changes of members, edits and deletions of messages, decisions about drafts, legal holds.',
  create_inbox:
    'Makes an inbox: an address at which customers write to the account. A case that is made with `inbox_id`, or that begins with a mail to the address, is bridged: replies to its customer leave as mail from the address. Mail for it must be handed to this server, as its operator has set up. The operator may limit the domains. An address that another inbox has, of whichever account, answers `resource_exists`.',
  list_inboxes: 'Lists the inboxes of the account.',
  get_inbox: 'Returns one inbox.',
  update_inbox:
    'Changes an inbox. What is absent stays, null clears. The group and the assignee apply to what is sent and begun from then on.',
  delete_inbox:
    'Deletes an inbox. Mail to its address is refused, and its cases are not bridged any more: their replies are messages of the conversation. Mails that exist stay. The address can be given to another inbox.',
  create_webhook:
    'Has events sent to a URL as they happen, signed as Standard Webhooks describes. `event_types` names types, areas (`message.*`) or everything (`*`); events of producers are among them. Events of direct messages are sent only with `include_direct`, which is audited. The URL is https and leads to a public address; the operator can allow others. An account can have 20 webhooks. The answer shows the secret, which cannot be read again.',
  list_webhooks: 'Lists the webhooks of the account, without their secrets.',
  get_webhook: 'Returns one webhook: whether it is enabled, and since when its tries have failed.',
  update_webhook:
    'Changes a webhook. What is absent stays. `status` `disabled` stops the sending, and `enabled` starts it again, also after Parley itself disabled it: when its receiver answered 410, or after five days without a success. Events of the time between are recorded as `failed` deliveries, which can be sent again.',
  delete_webhook:
    'Deletes a webhook and, within minutes, the record of its deliveries. Its secret signs nothing any more.',
  rotate_webhook_secret:
    'Gives a webhook a new secret, which the answer shows this once. For 24 hours requests carry two signatures, of the new secret and of the one before, so that the receiver can change over in between.',
  list_webhook_deliveries:
    'Lists what was sent to a webhook and what became of it, newest event first. Delivered ones are kept for 30 days, unless the operator has set another time; failed ones for as long as the webhook.',
  get_webhook_delivery:
    'Returns one delivery: how often it was tried, how the last try ended, and when the next one follows.',
  redeliver_webhook_delivery:
    'Sends an event again, whatever became of it, and starts the schedule of its retries over. The receiver gets the same `webhook-id`, and the resource as it is now. A disabled webhook answers `resource_conflict`.',
  get_webhook_completeness:
    'Proves what a receiver was sent. For each conversation of which the webhook was sent messages: `through_sequence`, the number through which every `message.created` that the filter lets through was delivered, and `head`, the highest number. A delivery that failed stops it until it is delivered. `all_through`: every event that was committed before was delivered. Neither goes back.',
  replay_webhook:
    'Sends the events since a time again, delivered or not, a thousand a second at most, with the same `webhook-id` and the resources as they are now. A replay that is under way is extended. A disabled webhook answers `resource_conflict`.',
  test_webhook:
    'Sends the event `webhook.test` at once, whatever the filter, and returns its delivery; read it again to see what became of it. A disabled webhook answers `resource_conflict`.',
  get_retention_policy: 'Returns after how many days what is purged, for admins and keys of an admin role.',
  set_retention_policy:
    'Replaces the whole policy: every period is stated, and null keeps what it is for. A change is audited, and what is older than the new policy is purged from then on. What is under legal hold stays until it is released.',
  list_account_audit:
    'Lists what was done in the whole account and by which actor, for admins and keys of an admin role. The filters can be combined.',
  get_audit_head:
    'Returns the last link of the chain of hashes that the audit is kept in, signed by the deployment. Keep heads elsewhere from time to time: `admin audit verify` compares an export with them, so that not even a person with full access to the database can change history unnoticed.',
  set_legal_hold:
    'Puts a conversation under legal hold, which suppresses retention purging and redaction, or releases it. Setting the status that it has already changes nothing.',
  list_conversation_files:
    'Lists the files and images of the sent messages that the caller may see, newest first, each with its message. Files of deleted and redacted messages are not there; one that retention removed has no `url`.',
  list_participants:
    'Lists the active participants with their actors, in the order in which they joined; those that have hidden the conversation are among them. `membership[]` lists others: former members are `left` and `removed`. A customer sees only itself.',
  get_participant:
    'Returns one participant of a conversation with its actor. Former members are found too. A customer finds only itself.',
  add_participant:
    'Adds a user, an agent or a customer. A former member joins again under the same participant. A customer with a known e-mail address is that customer. An active member answers `resource_exists`, and a direct message `resource_conflict`.',
  update_participant:
    "Changes a participant's role or an agent's trigger; a participant mutes the conversation for itself. What is absent stays. A direct message has no roles.",
  remove_participant:
    "Removes a participant, whose `membership` becomes `removed`. Removing one's own participant leaves the conversation: `membership` becomes `left`.",
  mark_conversation_read:
    "Moves the caller's read position forward, never back, and returns the conversation with its new `unread`. The notifications of the messages up to there become `read` right after.",
  get_inbox_summary:
    'Counts the conversations of the caller, and names those in which something was sent last. The same is sent as `inbox.updated` when it changes. It contains what was committed before `as_of`.',
  mark_conversation_unread:
    "Moves the caller's read position back, so that a message and all behind it are unread again, and returns the conversation. A message that is unread already changes nothing, and notifications that were read stay so.",
  mark_all_conversations_read:
    "Moves the caller's read position to the end of every conversation with something unread, hidden and snoozed ones among them, and returns the summary. The notifications of those messages become `read` right after.",
  hide_conversation:
    "Hides the conversation from the caller's own list until the next message. The caller stays a member.",
  unhide_conversation: "Shows a hidden conversation in the caller's own list again.",
  snooze_conversation:
    'Snoozes a conversation for the caller, until a time or until the next message of another author, whichever comes first. A list by activity leaves it out meanwhile. Its notifications go on: mute the conversation to end these. Snoozing again replaces the time.',
  unsnooze_conversation: "Ends the caller's snooze of a conversation. One that has ended stays so.",
  block_actor:
    'Blocks an actor. A customer is blocked by the team, with messaging:update: it writes in none of its cases any more, nor by mail, and goes on reading. A user is blocked by the caller alone: neither of the two writes in their direct message, nor begins one. Messages that are scheduled fail when they are due. An actor that is blocked already is answered with 200.',
  unblock_actor:
    'Ends a block, and returns it as it was. An actor that is not blocked answers `resource_not_found`. A direct message stays closed while the other user blocks the caller.',
  list_blocks:
    'Lists the users that the caller has blocked, and the customers that the team has blocked, as far as the caller may see them; newest first.',
  create_customer_token:
    'Makes an access token with which the customer of a case reads and answers it, for example from a widget. The token opens what is the customer’s own and nothing else.',
  list_notifications:
    "Lists the caller's own notifications, newest first. Without `status` every notification that is not dismissed is listed; `status` `dismissed` lists those that were put away.",
  get_notification: "Returns one of the caller's own notifications, whatever its status.",
  create_notifications:
    'Notifies up to 100 users of something that happened in your application, once each, and returns the notifications in the order of `recipient_ids`. A recipient that is no user of the account answers `resource_not_found`, a deactivated one `validation_failed`; then nobody is notified. `system.broadcast` and categories of your own areas, such as `order.updated`, are accepted.',
  get_notification_summary: "Counts the caller's own notifications, as a badge shows them.",
  mark_all_notifications:
    "Brings all of the caller's notifications to `seen`, `read` or `dismissed`. A notification that has reached the status, or a later one, stays as it is.",
  see_notification: 'Marks one notification as seen. One that was seen, read or dismissed stays as it is.',
  read_notification:
    'Marks one notification as read, which counts as seen too. A dismissed one stays as it is.',
  dismiss_notification: 'Dismisses one notification, which takes it out of the list for good.',
  get_notification_settings:
    "Returns the caller's own settings; a user that has set none gets the defaults. Only users of the account have settings: a key, an agent or a customer gets `insufficient_permissions`.",
  set_notification_settings:
    "Replaces the caller's own settings: what is left out has its default. The feed and its counts contain every notification in any case. Muting and do-not-disturb hours hold back what is pushed and mailed; `socket` of a category keeps its `notification.created` off sockets.",
  create_upload_url:
    'Returns an address to send the bytes of one file to with `PUT`. Send exactly the `headers` of the answer, then name its `s3_key` in an attachment within 24 hours.',
  create_alert:
    "Sends a message of kind `alert` in the caller's name: the title, and behind an empty line the body. Without `conversation_id` it goes into the account's `system` conversation, which its admins are in; to another one callers raise alerts where they may send. Members are notified, as `agent.alert` where the caller is an agent and as `system.broadcast` otherwise. An alert starts no agents. Send an `Idempotency-Key` to be able to repeat it.",
  create_event:
    'Raises an event of your own application. It starts the agents whose `event_filters` name its type, with the event as their input, and goes to webhooks. Sending it again with the same `event_id` returns the first event and has no effect again; the same `event_id` with another content answers `validation_failed`. Areas of Parley itself are refused. Events are kept for 30 days.',
  list_events: 'Lists the events that producers raised in the last 30 days, newest first.',
  get_event: 'Returns one event that a producer raised in the last 30 days.',
  create_agent:
    'Creates a custom agent, which is active at once and can run as soon as it has a role. A taken `slug` answers `resource_exists`; a plan that allows no more agents answers `limit_exceeded`.',
  list_agents: 'Lists the agents of the account. Instructions, tools and role are null unless expanded.',
  get_agent: 'Returns one agent. Instructions, tools and role are null unless expanded.',
  update_agent:
    'Changes an agent. What is absent stays, and the trigger type cannot change. A run that has begun goes on with the permissions that the role has at each call.',
  delete_agent:
    'Deletes an agent for good. Its open runs are cancelled, and its messages stay. Later requests answer `resource_not_found`.',
  trigger_agent_run:
    'Starts a run of an agent, whatever its trigger type. The run goes on after the answer: read it again, or follow `agent_run.updated` over the socket. An inactive agent answers `resource_conflict`.',
  list_agent_runs: 'Lists the runs of one agent. Tool calls and turns are null unless expanded.',
  list_runs:
    'Lists the runs of all agents that the caller may read: those without a conversation, and those of conversations that it may read. `status[]=awaiting_approval` lists those that wait for a decision. `include[]=definition` and `include[]=triggered_by` show whose they are.',
  get_agent_run:
    'Returns one run. `include[]=actions` shows the exact arguments of calls that wait for approval.',
  continue_agent_run:
    'Approves or rejects the tool calls that a run in `awaiting_approval` waits for. Each decision is final. A call that was decided or has expired answers `resource_conflict`.',
  cancel_agent_run:
    'Cancels a run. One that has completed or failed answers `resource_conflict`, a cancelled one is returned. What it has done stays done; a call of a tool that is under way is not undone.',
  list_agent_occurrences:
    'Lists the times at which the schedule of an agent was due in the last 90 days, and what came of each.',
  list_tools:
    'Lists the built-in tools and the endpoints that agents can be given, with the slugs that Create Agent takes. An endpoint is called by its operation id with dashes: `x-tool-slug` of each operation.',
  create_conversation_export:
    'Starts the export of a conversation and returns at once: all messages with their revisions, participants that have left too, the audit, and the files. A legal hold does not prevent it. Ask for the export until its `status` is `complete`. More unfinished exports than the account may have answer `limit_exceeded`.',
  create_user_export:
    'Starts the export of what is known of a person, which may be a customer, and returns at once: profile, memberships, messages that it wrote with revisions and files, drafts, notifications, the runs that it started, and the audit of what it did. Another actor than a person answers `resource_not_found`.',
  get_export:
    'Returns an export. When it is `complete`, `url` is an address that works for 10 to 15 minutes; ask again for another one. The file is removed after seven days, and the export is `expired` then.',
  list_exports: 'Lists the exports of the account. What has ended is listed for 90 days.',
  erase_user:
    'Erases a person, user or customer. With the answer its name becomes "Deleted user", its addresses are gone, its credentials and its exports end; a job then erases the rest: its feed, previews of what it wrote, its name in texts of the service, the texts of its runs, and with `remove` its messages, which become tombstones. Of conversations under legal hold nothing is erased: `held_conversations` names them, and the same request again erases them after the release. Callers cannot erase themselves, and the last active admin cannot be erased: `resource_conflict`.',
  get_erasure:
    'Returns the erasure of a person: how far the job is, and the conversations of which nothing was erased because they are held.',
  list_erasures: 'Lists the erasures of persons of the account. What has ended is listed for 90 days.',
  get_artifact:
    'Returns a file that an agent made in a run, with a time-limited address to download it from, to callers that may read the run.',
  get_account:
    'Returns the account that `Service-Account` names, with its plan and subscription, also while the subscription is not active.',
  register:
    'Creates an account with its first admin and an API key, without a credential, where the deployment allows public registration. Only `Service-Version` is required. The secret of the key is in this answer alone: a repetition with the same `Idempotency-Key` creates nothing and answers `resource_gone`. Past the number of accounts that the deployment allows, or where registration is closed, the answer is `registration_closed`. An address can register 20 times an hour.',
  create_role:
    'Creates a role of type `user`. It can grant no more than the role of the caller; a taken name answers `resource_exists`.',
  list_roles: 'Lists the roles of the account. Permissions are null unless expanded.',
  create_user:
    'Creates a person in the account with a role that grants no more than that of the caller. A taken email address answers `resource_exists`.',
  list_users: 'Lists the people of the account. `q` searches names and email addresses.',
  create_api_key:
    'Creates an API key with an actor of its own. Its secret is in this answer and cannot be read again.',
  list_api_keys: 'Lists the API keys of the account without their secrets.',
  get_api_key: 'Returns an API key without its secret. Keys that were revoked or have expired are found too.',
  revoke_api_key:
    'Revokes an API key at once and for good: requests with it answer `api_key_revoked`, and its sockets are closed.',
  rotate_api_key:
    'Replaces an API key by a new one of the same actor, role and expiration, and revokes the old one at once. The new secret is in this answer alone.',
  create_token:
    'Issues an access token and a refresh token for a user, for a sign-in that the caller has carried out itself. The role of the user can grant no more than that of the caller.',
  refresh_token:
    'Exchanges a refresh token for a new pair. A refresh token can be used once: using it again revokes every token that came of it.',
  create_entity: "Creates a pointer to a resource of the account's own application, such as an order.",
  list_entities: 'Lists the pointers to resources of the application. `q` searches names and handles.',
  create_group:
    'Creates a roster of users and agents that conversations can be started from and cases assigned to.',
  list_groups: 'Lists the rosters of the account. Members are null unless expanded.',
  deactivate_user:
    'Deactivates a user, whose sessions, tokens and sockets end at once and for good; memberships and messages stay. The caller needs every permission of the role of the user. Deactivating oneself or the last active admin answers `resource_conflict`.',
  activate_user:
    'Activates a deactivated user again, with the role and memberships of before. The user has to sign in again. An active user stays as it is.',
  create_realtime_ticket:
    'Returns a ticket that opens one socket within 30 seconds, for browsers, which cannot send headers with a WebSocket.',
  get_push_key:
    'Returns the public key of this server for web push (RFC 8292). A page compares its `id` with the one of its subscription, and subscribes again where they differ: a new key ends the subscriptions of the old one.',
  create_push_subscription:
    'Takes what `PushSubscription.toJSON()` returns in a browser, so that notifications reach it while no page is open. The same endpoint and keys again answer 200 with the same subscription: register at every visit. The same endpoint with other keys replaces the subscription before it. Only users have subscriptions, 20 at most; beyond them the answer is `limit_exceeded`.',
  list_push_subscriptions:
    'Lists the browsers and devices that the caller has registered. A subscription that its push service has ended, or that failed for a day, is not there any more.',
  get_push_subscription: "Returns one of the caller's own push subscriptions.",
  delete_push_subscription:
    'Ends a subscription, as a page does when its user signs out. One that the browser has renewed since has another id, and stays.',
};
