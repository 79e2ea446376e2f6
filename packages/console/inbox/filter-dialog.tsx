import type { ConversationView, ViewFilters } from '@parley/protocol/resources/conversation-view.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { notify, notifyFailure } from '@parley/ui/feedback/notify.ts';
import { Dialog } from '@parley/ui/overlays/dialog.tsx';
import { useState } from 'preact/hooks';
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
    notify(`The view “${name.trim()}” is saved.`);
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
  return (
    <Dialog title="Filter and sort" onClose={onClose}>
      <form
        class="filter-dialog"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() === '') apply();
          else save().catch(notifyFailure);
        }}
      >
        <label>
          Order
          <select
            value={draft.order ?? 'activity'}
            onChange={({ currentTarget: { value } }) =>
              choose({ order: value === 'activity' ? undefined : value })
            }
          >
            <option value="activity">Newest message first</option>
            <option value="waiting">Customers that wait, the longest first</option>
            <option value="created">Newest conversation first</option>
          </select>
        </label>
        <label>
          Kind
          <select
            value={kind}
            onChange={({ currentTarget: { value } }) =>
              choose({ type: undefined, audience: undefined, ...kinds[value as keyof typeof kinds] })
            }
          >
            <option value="">All</option>
            <option value="direct_message">Direct messages</option>
            <option value="group">Groups</option>
            <option value="case">Customer cases</option>
          </select>
        </label>
        <label>
          Owner
          <select
            value={owner}
            onChange={({ currentTarget: { value } }) => choose({ assignee_id: value || undefined })}
          >
            <option value="">Anyone</option>
            <option value="me">Me</option>
            <option value="none">No owner</option>
            {owner !== '' && owner !== 'me' && owner !== 'none' && <option value={owner}>As before</option>}
          </select>
        </label>
        <Several
          title="State"
          names={STATES}
          chosen={draft.filter ?? []}
          onChange={(filter) => choose({ filter })}
        />
        <Several
          title="Lane"
          names={LANES}
          chosen={draft.workflow_status ?? []}
          onChange={(workflow_status) => choose({ workflow_status })}
        />
        <label>
          Save as a view
          <input
            value={name}
            maxLength={60}
            placeholder="Name"
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
              Delete the view “{saved.name}”
            </Button>
          )}
          <Button onClick={() => setDraft({})}>Clear</Button>
          <Button type="submit" look="primary">
            {name.trim() === '' ? 'Show' : 'Save and show'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

const STATES = {
  open: 'Not resolved',
  unread: 'Unread',
  mine: 'Mine',
  unassigned: 'Without an owner',
  snoozed: 'Snoozed',
} as const;

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
