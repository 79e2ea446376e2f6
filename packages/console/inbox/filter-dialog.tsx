import type { ConversationView, ViewFilters } from '@parley/protocol/resources/conversation-view.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { notify, notifyFailure } from '@parley/ui/feedback/notify.ts';
import { Dialog } from '@parley/ui/overlays/dialog.tsx';
import { useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import { LANES } from './inbox-view.ts';
import { textOf } from './list-filters.ts';

export interface FilterDialogProps {
  readonly filters: ViewFilters;
  /** The saved view that the list shows. */
  readonly saved?: ConversationView;
  readonly onChoose: (filters: ViewFilters) => void;
  readonly onSave: (name: string, filters: ViewFilters) => Promise<void>;
  readonly onRemove: (id: string) => Promise<void>;
  readonly onClose: () => void;
}

/** Combines filters of the list, and saves them as a view of the person's own. */
export function FilterDialog({ filters, saved, onChoose, onSave, onRemove, onClose }: FilterDialogProps) {
  const [draft, setDraft] = useState(filters);
  const [name, setName] = useState('');
  const choose = (change: Partial<Record<keyof ViewFilters, unknown>>) => {
    const next = Object.entries({ ...draft, ...change }).filter(
      ([, value]) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0),
    );
    setDraft(Object.fromEntries(next) as ViewFilters);
  };
  const apply = () => {
    onChoose(draft);
    onClose();
  };
  const save = async () => {
    await onSave(name.trim(), draft);
    notify(texts.inbox.viewSaved(name.trim()));
    apply();
  };
  const kind = draft.audience === 'customer' ? 'case' : (draft.type ?? '');
  const kinds = {
    '': {},
    direct_message: { type: 'direct_message' },
    group: { type: 'group', audience: 'internal' },
    case: { audience: 'customer' },
  } as const;
  const owner = draft.assignee_id ?? '';
  const isEmpty = textOf(draft) === '';
  const words = texts.inbox;
  return (
    <Dialog title={words.filterAndSort} onClose={onClose}>
      <form
        class="filter-dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() === '') apply();
          else save().catch(notifyFailure);
        }}
      >
        <label>
          {words.order}
          <select
            value={draft.order ?? 'activity'}
            onChange={({ currentTarget: { value } }) =>
              choose({ order: value === 'activity' ? undefined : value })
            }
          >
            <option value="activity">{words.orders.activity}</option>
            <option value="waiting">{words.orders.waiting}</option>
            <option value="created">{words.orders.created}</option>
          </select>
        </label>
        <label>
          {words.kind}
          <select
            value={kind}
            onChange={({ currentTarget: { value } }) =>
              choose({ type: undefined, audience: undefined, ...kinds[value as keyof typeof kinds] })
            }
          >
            <option value="">{words.all}</option>
            <option value="direct_message">{words.directMessages}</option>
            <option value="group">{words.groups}</option>
            <option value="case">{words.cases}</option>
          </select>
        </label>
        <label>
          {words.owner}
          <select
            value={owner}
            onChange={({ currentTarget: { value } }) => choose({ assignee_id: value || undefined })}
          >
            <option value="">{words.anyone}</option>
            <option value="me">{words.me}</option>
            <option value="none">{words.noOwner}</option>
            {owner !== '' && owner !== 'me' && owner !== 'none' && (
              <option value={owner}>{words.asBefore}</option>
            )}
          </select>
        </label>
        <Several
          title={words.state}
          names={words.states}
          chosen={draft.filter ?? []}
          onChange={(filter) => choose({ filter })}
        />
        <Several
          title={words.lane}
          names={LANES}
          chosen={draft.workflow_status ?? []}
          onChange={(workflow_status) => choose({ workflow_status })}
        />
        <label>
          {words.saveView}
          <input
            value={name}
            maxLength={60}
            placeholder={words.name}
            disabled={isEmpty}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
        <div class="filter-dialog-end">
          {saved !== undefined && (
            <Button
              look="danger"
              onClick={() => {
                onRemove(saved.id).catch(notifyFailure);
                onClose();
              }}
            >
              {words.deleteView(saved.name)}
            </Button>
          )}
          <Button onClick={() => setDraft({})}>{words.clear}</Button>
          <Button type="submit" look="primary">
            {name.trim() === '' ? words.show : words.saveAndShow}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface SeveralProps<Value extends string> {
  readonly title: string;
  readonly names: Readonly<Record<Value, string>>;
  readonly chosen: readonly Value[];
  readonly onChange: (chosen: readonly Value[]) => void;
}

function Several<Value extends string>({ title, names, chosen, onChange }: SeveralProps<Value>) {
  return (
    <fieldset>
      <legend>{title}</legend>
      {(Object.entries(names) as [Value, string][]).map(([value, name]) => (
        <label key={value}>
          <input
            type="checkbox"
            checked={chosen.includes(value)}
            onChange={({ currentTarget: { checked } }) =>
              onChange(checked ? [...chosen, value] : chosen.filter((one) => one !== value))
            }
          />
          {name}
        </label>
      ))}
    </fieldset>
  );
}
