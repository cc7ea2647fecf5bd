// The browser's own store (IndexedDB): events that are not saved yet, and all answers of an offline pack.

const NAME = "cccount-review";
const VERSION = 1;

let opening = null;

function opened() {
  opening ??= new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, VERSION);
    request.onupgradeneeded = () => {
      for (const store of ["events", "answers"]) {
        request.result.createObjectStore(store, { keyPath: "id" }).createIndex("owner", "owner");
      }
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("another tab holds an older version of the store"));
  });
  return opening;
}

async function change(store, work) {
  const database = await opened();
  return new Promise((resolve, reject) => {
    const transaction = database.transaction(store, "readwrite", { durability: "strict" });
    work(transaction.objectStore(store));
    transaction.commit(); // at once: what waits for its requests to be answered is lost when the page is closed or reloaded meanwhile
    transaction.oncomplete = () => resolve();
    transaction.onerror = transaction.onabort = () => reject(transaction.error);
  });
}

export function put(store, rows) {
  return change(store, (table) => rows.forEach((row) => table.put(row)));
}

export function remove(store, ids) {
  return change(store, (table) => ids.forEach((id) => table.delete(id)));
}

/** Everything that belongs to an owner, in the order in which it was made. */
export async function all(store, owner) {
  const database = await opened();
  return new Promise((resolve, reject) => {
    const request = database.transaction(store).objectStore(store).index("owner").getAll(owner);
    request.onsuccess = () => resolve(request.result.sort((a, b) => a.made - b.made || a.place - b.place));
    request.onerror = () => reject(request.error);
  });
}
